// A DLIO-style workload: how busy are simulated accelerators?
//
//   npm run build && node bench/dlio/workload.mjs unet3d [--accelerators max] [--json]
//
// With an object of options as JSON in place of a name, one JSON object on stdout: that is how compare.py calls it.

import { parseArgs } from 'node:util'
import { notice, Progress } from '../../build/tools/cli/progress.js'
import { benchWorkload } from './workloads/run.mjs'

const TEXTS = ['accelerator', 'accelerators', 'scale', 'data', 'steps-log', 'workers']
const COUNTS = ['files', 'size', 'seed', 'steps', 'epochs', 'depth']

const { options, json: asJson } = given()
const progress = new Progress('opening', { unit: 'files' })
const { json, text } = await benchWorkload({
  ...options,
  onProgress: (done, total, what, unit) => progress.set(done, total, what, unit),
  onNotice: notice,
}).finally(() => progress.end())
process.stdout.write(asJson ? `${JSON.stringify(json)}\n` : `${text}\n`)
process.exit(0)

function given() {
  if (process.argv[2]?.startsWith('{')) return { options: JSON.parse(process.argv[2]), json: true }
  const texts = Object.fromEntries([...TEXTS, ...COUNTS].map(name => [name, { type: 'string' }]))
  const flags = { warm: { type: 'boolean' }, json: { type: 'boolean' } }
  const { values, positionals } = parseArgs({ options: { ...texts, ...flags }, allowPositionals: true })
  const { json = false, ...options } = values
  for (const name of [...COUNTS, 'workers'])
    if (options[name] !== undefined && options[name] !== 'auto') options[name] = Number(options[name])
  return { options: { ...options, workload: positionals[0] ?? '' }, json }
}
