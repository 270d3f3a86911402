/** A ring that the pool's workers fill, and what becomes of a row at which one of them dies. */
import { type Claim, type Ring, UNDECIDED } from '../../batch/ring.js'
import { BlockCache } from '../../store/block-cache.js'
import type { BadReport, Job } from '../plan/job.js'

/** What the pool tells the owner of a ring. */
export interface RingOwner {
  bad(report: BadReport): void
  failed(error: Error): void
  /** A worker has taken up the ring's job, or others have to make what one held: look again at what is ready. */
  took(): void
}

/** A row that has ended this many workers is tried no more: it is a bad sample. */
const MOST_DEATHS = 2

export class ServedRing {
  /** How many workers died at a row, by generation, batch and row. */
  private readonly deaths = new Map<string, number>()

  constructor(
    public job: Job,
    readonly ring: Ring,
    readonly owner: RingOwner,
  ) {}

  /** A worker has died: others make what it held. Returns whether the row that it was at explains its death. */
  async recover(maker: number, lives: (maker: number) => boolean): Promise<boolean> {
    if (this.job.cache) await new BlockCache(this.job.cache.data).forget(maker)
    const held = this.ring.held(maker)
    const claim = await this.abandon(maker, lives)
    if (!held || !claim) return false
    if (held.since === 0) return false // it was at no row: none is to blame
    const row = `${this.ring.generation}/${claim.batch}/${held.row}`
    const deaths = (this.deaths.get(row) ?? 0) + 1
    this.deaths.set(row, deaths)
    if (deaths >= MOST_DEATHS) this.ring.poisonRow(claim.batch, held.row)
    else this.owner.took()
    return deaths <= MOST_DEATHS
  }

  /**
   * Puts what a dead worker held on the list of claims to be made again. Returns the claim, if it held one. Another worker
   * that is about to take the same one is waited for.
   */
  private async abandon(maker: number, lives: (maker: number) => boolean): Promise<Claim | undefined> {
    for (;;) {
      const claim = this.ring.abandon(maker, lives)
      if (claim !== UNDECIDED) return claim
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
}
