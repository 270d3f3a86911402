// The loop in Node beside the one in Python: the same feed, workers and depth, in turns. A child process for each run; in both
// hosts the batches' pages are touched, and what was made while the makers warmed up is not counted.
//
//   node bench/hosts.mjs [--save] [--rounds 5] [--samples 4096] [--threads N] [--seconds 3] [--depth 4]
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { usableCores } from '../build/core/system/process/limits.js'
import { pictures } from './data.mjs'
import { pictureFeed } from './loops.mjs'
import { interleaved, keep, median, root, stamp } from './support.mjs'

const option = (name, standard) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? standard : Number(process.argv[at + 1])
}
const rounds = option('rounds', 5)
const samples = option('samples', 4096)
const threads = option('threads', usableCores())
const seconds = option('seconds', 3)
const depth = option('depth', 4)

const source = await pictures(samples, threads)

/** What one of the hosts says of its run. */
function run(program, script, dtype) {
  const feed = JSON.stringify(pictureFeed(source, dtype, 256))
  const args = [join(root, 'bench', script), feed, threads, depth, seconds].map(String)
  const env = { ...process.env, PYTHONPATH: process.env.PYTHONPATH ?? join(root, 'python') }
  return JSON.parse(execFileSync(program, args, { env, encoding: 'utf8' }))
}

const cpu = {}
const measure = (name, program, script, dtype) => () => {
  const { rate, cpuMs } = run(program, script, dtype)
  ;(cpu[name] ??= []).push(cpuMs)
  return rate
}
const contenders = {}
for (const dtype of ['u8', 'f32']) {
  contenders[`node, ${dtype}`] = measure(`node, ${dtype}`, process.execPath, 'hosts-loop.mjs', dtype)
  contenders[`python, ${dtype}`] = measure(`python, ${dtype}`, 'python3', 'hosts_loop.py', dtype)
}
const results = await interleaved(contenders, rounds)
keep('hosts', {
  ...stamp(),
  command: `node bench/hosts.mjs --rounds ${rounds} --samples ${samples} --threads ${threads} --seconds ${seconds} --depth ${depth}`,
  what: '224² JPEG in tar → randomResizedCrop(224) + flip → u8; the same + normalise → f32; batch 256; img/s in Node and in Python',
  cache: 'page cache warm',
  threads,
  depth,
  results,
  cpuMsPerBatch: Object.fromEntries(Object.entries(cpu).map(([name, values]) => [name, median(values)])),
  ratios: {
    u8: results['node, u8'].median / results['python, u8'].median,
    f32: results['node, f32'].median / results['python, f32'].median,
  },
})
