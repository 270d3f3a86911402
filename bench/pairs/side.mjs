// One round of one side, in a process of its own: CHECKOUT PART OPTIONS. Prints what it measured as JSON. Only what
// `dist/index.js` exports is used, so that any two commits compare whose packages have `open`.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { firstBatch, manyFeed, memory, memoryFeed, pictureFeed, through } from '../loops.mjs'

const [checkout, part, options] = process.argv.slice(2)
const { sources, workers, seconds, steps } = JSON.parse(options)
const begun = performance.now()
const { open } = await import(pathToFileURL(join(checkout, 'dist/index.js')).href)
const importMs = performance.now() - begun

/** Milliseconds for each thing that is counted, by the wall clock and of the CPU. */
const each = ({ ms, cpuMs }, count) => ({ wall: ms / count, cpu: cpuMs / count })

/** Each part gives the time and CPU time of each of its measures. */
const parts = {
  /** Time a picture. Batches of 64, so that the batches under way at either end count for little in a short round. */
  async throughput() {
    const result = {}
    for (const dtype of ['u8', 'f32']) {
      const run = { workers, depth: 4, epochs: null, warm: 24, seconds: seconds / 2 }
      const got = await through(open, pictureFeed(sources.pictures, dtype, 64), run)
      result[dtype] = each(got, got.rows)
    }
    return result
  },
  /** Time a batch of rows from memory. */
  async overhead() {
    const result = {}
    const measure = async (name, batch, workers, warm) => {
      const run = { workers, depth: 8, epochs: null, warm, seconds: seconds / 4 }
      const got = await through(open, memoryFeed(batch), run)
      result[name] = each(got, got.batches)
    }
    await measure('batch of 1', 1, 1, 8000)
    await measure('batch of 1, in thread', 1, 0, 8000)
    await measure('batch of 16', 16, 1, 2000)
    await measure('batch of 256', 256, 1, 200)
    return result
  },
  /** Time from `open` to the first batch; and beside it, not judged, how long the import took. */
  async ready() {
    const got = await firstBatch(open, manyFeed(sources.many), { workers: 2 })
    return { 'first batch': each(got, 1), importMs }
  },
  flat: () => memory(open, sources.pictures, steps),
}
console.log(JSON.stringify(await parts[part]()))
process.exit()
