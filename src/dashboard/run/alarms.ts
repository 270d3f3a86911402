/** Alerts of all ranks of a run, by the rules of `--alert`. */

import { parseAlert } from '../../observe/live/alert-rules.js'
import { Alerts } from '../../observe/live/alerts.js'
import type { RunRecord } from '../../observe/live/record.js'
import type { Alert } from '../view.js'

export class Alarms {
  private readonly ranks = new Map<number, Alerts>()

  /** Throws where a rule makes no sense. */
  constructor(private readonly rules: readonly string[]) {
    for (const rule of rules) parseAlert(rule)
  }

  /** What a second changes: alerts that begin or end. */
  look(records: readonly RunRecord[]): Alert[] {
    if (this.rules.length === 0) return []
    return records.flatMap(record => {
      const alerts = this.ranks.get(record.rank) ?? new Alerts(this.rules)
      this.ranks.set(record.rank, alerts)
      return alerts.look(record).map(alert => named(alert, record))
    })
  }

  /** Another run is looked at. */
  clear(): void {
    this.ranks.clear()
  }
}

/** Of several ranks, each has alerts of its own. */
function named({ rule, since, text }: Alert, { rank, world }: RunRecord): Alert {
  return world < 2
    ? { rule, since, text }
    : { rule: `${rule} (rank ${rank})`, since, text: `rank ${rank}: ${text}` }
}
