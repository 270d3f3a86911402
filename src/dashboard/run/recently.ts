/** The last seconds of a run, and how many batches were in memory over the last hour: for a page that was opened later. */
import type { RunRecord } from '../../observe/live/record.js'
import type { Now, Recent, SlotPoint } from '../view.js'

/** Seconds that are kept, and how far batches in memory go back (ms). */
const SECONDS = 10
const LENGTH = 3_600_000
/** Points that a page is told. */
const TOLD = 900

export class Recently {
  private seconds: Pick<Now, 'ranks'>[] = []
  private slots: SlotPoint[] = []
  /** When the last record of each rank ended. */
  private readonly times = new Map<number, number>()

  /** Whether a record was not told yet. */
  isNews({ rank, time }: RunRecord): boolean {
    return time > (this.times.get(rank) ?? Number.NEGATIVE_INFINITY)
  }

  /** Keeps a second, and gives it back as it is told: what the tuner did is told once, though a record may come again. */
  add(now: Now): Now {
    const ranks = now.ranks.map(record => (this.isNews(record) ? record : { ...record, decisions: [] }))
    for (const { rank, time } of ranks) this.times.set(rank, time)
    this.seconds = [...this.seconds, { ranks }].slice(-SECONDS)
    const point = slotsOf(ranks)
    if (point !== null) {
      this.slots.push(point)
      if (this.slots[0].time < point.time - 1.1 * LENGTH)
        this.slots = this.slots.filter(({ time }) => time >= point.time - LENGTH)
    }
    return { ...now, ranks }
  }

  /** Another run of the same feed begins. */
  nextRun(): void {
    this.seconds = []
    this.times.clear()
  }

  clear(): void {
    this.nextRun()
    this.slots = []
  }

  told(): Recent {
    const each = Math.ceil(this.slots.length / TOLD)
    // The last one of each few.
    const slots = this.slots.filter((_, i) => each <= 1 || (this.slots.length - 1 - i) % each === 0)
    return { seconds: this.seconds, slots }
  }
}

function slotsOf(ranks: readonly RunRecord[]): SlotPoint | null {
  const seen = ranks.flatMap(({ slots }) => (slots === null ? [] : [slots]))
  if (seen.length === 0) return null
  const sum = (name: 'ready' | 'filling' | 'held') => seen.reduce((all, slots) => all + slots[name], 0)
  const time = Math.max(...ranks.map(one => one.time))
  return { time, ready: sum('ready'), filling: sum('filling'), held: sum('held') }
}
