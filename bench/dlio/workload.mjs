// One run of a workload in a process of its own: node bench/dlio/workload.mjs '{"workload": "unet3d"}'. JSON on stdout.

import { benchWorkload } from '../../dist/bench/workloads/run.js'
import { notice, Progress } from '../../dist/cli/progress.js'

const options = JSON.parse(process.argv[2] ?? '{}')
const progress = new Progress('opening', { unit: 'files' })
const { json, text } = await benchWorkload({
  ...options,
  onProgress: (done, total, what, unit) => progress.set(done, total, what, unit),
  onNotice: notice,
}).finally(() => progress.end())
if (process.argv.includes('--text')) process.stderr.write(`${text}\n`)
process.stdout.write(`${JSON.stringify(json)}\n`)
process.exit(0)
