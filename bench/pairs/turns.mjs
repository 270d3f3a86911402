// Two builds in one process, in turns of a fraction of a second: what the machine does to one, it does to the other. Rounds in
// processes of their own, minutes apart, differ by 10 % on a machine with neighbours; these by 2 or 3.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { memoryFeed, pictureFeed, rawFeed } from '../loops.mjs'

/** Milliseconds in which a build fills its ring again before the other has its turn. */
const REST = 40
const WARM = 3

/** The measures of each part: a feed, its workers and depth, and what is counted: pictures or batches. */
export const measuresOf = {
  throughput: ({ pictures, workers }) =>
    ['u8', 'f32'].map(dtype => ({
      name: dtype,
      feed: pictureFeed(pictures, dtype, 64),
      open: { workers, depth: 4 },
      counted: 64,
    })),
  overhead: () =>
    [
      ['batch of 1', 1, 1],
      ['batch of 1, in thread', 1, 0],
      ['batch of 16', 16, 1],
      ['batch of 256', 256, 1],
    ].map(([name, batch, workers]) => ({
      name,
      feed: memoryFeed(batch),
      open: { workers, depth: 8 },
      counted: 1,
    })),
  raw: ({ raw, workers }) =>
    ['chw', 'hwc'].map(layout => ({
      name: layout,
      feed: rawFeed(raw, layout, 64),
      open: { workers, depth: 4 },
      counted: 64,
    })),
}

/**
 * Pairs of turns without end: `next()` gives `{ before, after }`, each with the time and the CPU time (ms) of what is counted.
 * A turn takes as many batches as come in `seconds`, and then waits until the ring is full again, as it was at the beginning: so
 * its CPU time is that of exactly these batches. Its time is that of the batches that were not there when it began.
 */
export class Turns {
  constructor(sides, { name, feed, open, counted }, seconds) {
    this.name = name
    this.feed = feed
    this.options = { ...open, epochs: null }
    this.counted = counted
    this.seconds = seconds
    this.sides = Object.entries(sides).map(([side, folder]) => ({ side, folder: resolve(folder) }))
    this.taken = 0
  }

  async begin() {
    for (const one of this.sides) {
      one.loader = await this.open(one)
      one.batches = one.loader[Symbol.asyncIterator]()
    }
    // As many batches for both sides: as the slower one makes in the time of a turn, when it is warm.
    this.batches = Number.POSITIVE_INFINITY
    for (let i = 0; i < WARM; i++) {
      const made = []
      for (const one of this.sides) made.push(await this.count(one))
      this.batches = Math.max(2 * this.options.depth, Math.min(...made))
    }
  }

  async open({ folder }) {
    const { open } = await import(pathToFileURL(join(folder, 'dist/index.js')).href)
    return open(this.feed, this.options)
  }

  /** How many batches come within a turn's time. */
  async count({ batches }) {
    const end = performance.now() + this.seconds * 1000
    let count = 0
    for (; performance.now() < end; count++) await batches.next()
    return count
  }

  async turn({ batches }) {
    const { depth } = this.options
    const cpu = process.cpuUsage()
    const begun = performance.now()
    for (let i = 0; i < this.batches; i++) await batches.next()
    const ms = performance.now() - begun
    // What lay ready took no time to make: to fill the ring again takes as long as as many batches did.
    const made = this.batches - depth
    await new Promise(done => setTimeout(done, REST + (1.5 * ms * depth) / made))
    const { user, system } = process.cpuUsage(cpu)
    return { wall: ms / made / this.counted, cpu: (user + system) / 1000 / this.batches / this.counted }
  }

  async next() {
    if (this.batches === undefined) await this.begin()
    const got = {}
    for (const one of this.taken++ % 2 ? this.sides.toReversed() : this.sides)
      got[one.side] = await this.turn(one)
    return got
  }

  async close() {
    for (const { loader } of this.sides) await loader?.close()
  }
}
