// One round of one side of bench/cold.mjs, in a process of its own: CHECKOUT FEED ROWS WORKERS. Prints how long the rows took, as
// JSON, without the first batch. Only what `dist/index.js` exports is used, so that any two commits compare.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { through } from '../loops.mjs'

const [checkout, feed, rows, workers] = process.argv.slice(2)
const { open } = await import(pathToFileURL(join(checkout, 'dist/index.js')).href)
const definition = JSON.parse(feed)
const steps = 1 + Math.ceil(Number(rows) / definition.batch)
console.log(JSON.stringify(await through(open, definition, { workers: Number(workers), steps, warm: 1 })))
process.exit()
