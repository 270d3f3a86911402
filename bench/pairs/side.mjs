// One round of one side, in a process of its own: CHECKOUT PART OPTIONS. Prints what it measured as JSON. Only what
// `dist/index.js` exports is used, so that any two commits compare whose packages have `open`.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { firstBatch, manyFeed, memory } from '../loops.mjs'

const [checkout, part, options] = process.argv.slice(2)
const { sources, steps } = JSON.parse(options)
const begun = performance.now()
const { open } = await import(pathToFileURL(join(checkout, 'dist/index.js')).href)
const importMs = performance.now() - begun

/** Milliseconds for each thing that is counted, by the wall clock and of the CPU. */
const each = ({ ms, cpuMs }, count) => ({ wall: ms / count, cpu: cpuMs / count })

/** Each part gives the time and CPU time of each of its measures. */
const parts = {
  /** Time from `open` to the first batch; and beside it, not judged, how long the import took. */
  async ready() {
    const got = await firstBatch(open, manyFeed(sources.many), { workers: 2 })
    return { 'first batch': each(got, 1), importMs }
  },
  flat: () => memory(open, sources.pictures, steps),
}
console.log(JSON.stringify(await parts[part]()))
process.exit()
