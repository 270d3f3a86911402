// Memory over 2,000 steps: the slope of resident memory, by least squares over the second half, after warming up.
//
//   node bench/flat.mjs [--save] [--steps 2000]
import { open } from '../dist/index.js'
import { pictures } from './data.mjs'
import { memory } from './loops.mjs'
import { keep, stamp } from './support.mjs'

const at = process.argv.indexOf('--steps')
const steps = at < 0 ? 2000 : Number(process.argv[at + 1])
keep('flat', {
  ...stamp(),
  command: `node ${process.execArgv.join(' ')} bench/flat.mjs --steps ${steps}`,
  what: `resident memory over steps ${steps}…${2 * steps}, batch 16 of f32 [3, 224, 224], 2 workers, depth 4`,
  ...(await memory(open, await pictures(4096, 2), steps)),
})
