/** Alerts of all ranks of a run, by the rules of `--alert`. */

import { parseAlert } from '../../observe/live/alert-rules.js'
import { Alerts } from '../../observe/live/alerts.js'
import type { RunRecord } from '../../observe/live/record.js'
import type { Alert } from '../view.js'

/** A rank of which nothing was heard for so long (s), or for so many times what its last record covers, is missed. */
const LONGEST = 15
const TIMES = 2.5

/** What is known of one rank. */
interface RankAlerts {
  alerts: Alerts
  last: RunRecord
  /** When its last record came, by this machine's clock (ms since 1970): clocks of nodes differ. */
  heard: number
}

export class Alarms {
  private readonly ranks = new Map<number, RankAlerts>()
  /** Of records of the time before: they don't count. */
  private readonly passed = new Map<number, number>()

  /** Throws where a rule makes no sense. */
  constructor(private readonly rules: readonly string[]) {
    for (const rule of rules) parseAlert(rule)
  }

  /** What new records change: alerts that begin or end. A record that was seen before is left out. */
  look(records: readonly RunRecord[], now = Date.now()): Alert[] {
    if (this.rules.length === 0) return []
    const inOrder = [...records].sort((a, b) => a.time - b.time)
    const changes = inOrder.flatMap(record => this.hear(record, now))
    return [...changes, ...this.miss(now)]
  }

  /** A rank has ended as it should: its alerts end as well, and nothing is missed of it. */
  leave(rank: number): Alert[] {
    const known = this.ranks.get(rank)
    this.ranks.delete(rank)
    if (known !== undefined) this.passed.set(rank, known.last.time)
    const firing = known?.alerts.firing ?? []
    return firing.flatMap(({ rule }) =>
      known ? [named({ rule, since: null, text: `${rule}: ended, with the feed` }, known.last)] : [],
    )
  }

  /** Another run is looked at. `before`: what its ranks did last, which does not count. */
  begin(before: readonly RunRecord[] = []): void {
    this.ranks.clear()
    this.passed.clear()
    for (const { rank, time } of before) this.passed.set(rank, Math.max(time, this.passed.get(rank) ?? time))
  }

  private hear(record: RunRecord, now: number): Alert[] {
    const { rank, time } = record
    const known = this.ranks.get(rank)
    if (time <= (known?.last.time ?? this.passed.get(rank) ?? Number.NEGATIVE_INFINITY)) return []
    const alerts = known?.alerts ?? new Alerts(this.rules)
    this.ranks.set(rank, { alerts, last: record, heard: now })
    return alerts.look(record).map(alert => named(alert, record))
  }

  private miss(now: number): Alert[] {
    return [...this.ranks.values()].flatMap(({ alerts, last, heard }) => {
      const seconds = (now - heard) / 1000
      if (seconds < Math.max(LONGEST, TIMES * last.seconds)) return []
      return alerts.miss(seconds, now).map(alert => named(alert, last))
    })
  }
}

/** Of several ranks, each has alerts of its own. */
function named({ rule, since, text }: Alert, { rank, world }: RunRecord): Alert {
  return world < 2
    ? { rule, since, text }
    : { rule: `${rule} (rank ${rank})`, since, text: `rank ${rank}: ${text}` }
}
