/**
 * The generator of a feed, as a client in another process gets it: the client runs it on its own device. A kernel goes as
 * text; the pool of a synthetic source lies in shared memory, which belongs to the session until the client leaves.
 */
import { writeSync } from 'node:fs'
import { type Generator, poolOf } from '../../engine/plan/generate.js'
import type { Feeding } from '../../engine/ring/feeding.js'
import { createRegion, free, reserveSync, type SharedRegion, seal } from '../../system/memory/memory.js'

export class ClientGenerator {
  private region: SharedRegion | undefined

  /** Undefined where the batches are made by the engine, all of them. */
  describe({ generator }: Feeding): (Generator & { pool?: object }) | undefined {
    if (generator?.kind !== 'synthetic') return generator
    const pool = poolOf(generator)
    this.region = createRegion(pool.length)
    reserveSync(this.region)
    for (let at = 0; at < pool.length; ) at += writeSync(this.region.fd, pool, at, pool.length - at, at)
    seal(this.region, true)
    return { ...generator, pool: { path: `/proc/${process.pid}/fd/${this.region.fd}`, bytes: pool.length } }
  }

  close(): void {
    if (this.region) free(this.region)
    this.region = undefined
  }
}
