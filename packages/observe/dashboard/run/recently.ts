/** The last seconds of a run: for a page that was opened later. */
import type { RunRecord } from '../../live/record.js'
import type { Now, Recent } from '../view.js'

/** Seconds that are kept. */
const SECONDS = 10

export class Recently {
  seconds: Recent = []
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
    return { ...now, ranks }
  }

  /** Another run begins. */
  clear(): void {
    this.seconds = []
    this.times.clear()
  }
}
