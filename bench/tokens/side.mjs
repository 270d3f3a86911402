// One turn of Millrace, or of plain reads, in a process of its own: node bench/tokens/side.mjs KIND FILE LENGTH BATCH WORKERS SECONDS.
// Prints rows, seconds and CPU seconds as JSON. What came in the first half second is not counted.
import { openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

const root = join(fileURLToPath(import.meta.url), '../../..')
const WARM = 0.5

const [kind, file, ...numbers] = isMainThread ? process.argv.slice(2) : workerData
const [length, batch, workers, seconds] = numbers.map(Number)

if (!isMainThread) plainReads()
else console.log(JSON.stringify(kind === 'pread' ? await threads() : await feed()))
if (isMainThread) process.exit()

async function feed() {
  const { open } = await import('../../dist/index.js')
  const source = { tokens: { path: file, dtype: 'u16', format: 'nanogpt', length } }
  const definition = {
    source,
    order: { shuffle: 'global', seed: Math.floor(Math.random() * 2 ** 30) },
    batch,
  }
  const loader = open(definition, { workers, notice: () => {} })
  let rows = 0
  let [begun, cpu, sum] = [0, undefined, 0n]
  let first = 0
  for await (const taken of loader) {
    const now = performance.now()
    first ||= now
    if (cpu === undefined && now - first >= WARM * 1000) {
      ;[begun, cpu, rows] = [now, process.cpuUsage(), 0]
    }
    rows += taken.count
    sum += taken.input[7] + taken.target[9]
    if (cpu !== undefined && now - begun >= seconds * 1000) break
  }
  return measured(rows, begun, cpu, sum)
}

function measured(rows, begun, cpu, sum) {
  const { user, system } = process.cpuUsage(cpu)
  return {
    rows,
    seconds: (performance.now() - begun) / 1000,
    cpu: (user + system) / 1e6,
    sum: Number(sum % 1000n),
  }
}

/** Threads that do nothing but read a row at random and widen it, without hints. */
async function threads() {
  const counts = new Int32Array(new SharedArrayBuffer(4 * (workers + 1)))
  const all = Array.from(
    { length: workers },
    (_, i) =>
      new Worker(new URL(import.meta.url), { workerData: [kind, file, ...numbers, String(i), counts] }),
  )
  const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
  while (counts.some((n, i) => i < workers && n === 0)) await pause(5)
  await pause(WARM * 1000)
  const before = counts.slice(0, workers).reduce((a, b) => a + b)
  const [begun, cpu] = [performance.now(), process.cpuUsage()]
  await pause(seconds * 1000)
  const rows = counts.slice(0, workers).reduce((a, b) => a + b) - before
  const result = measured(rows, begun, cpu, 0n)
  counts[workers] = 1
  await Promise.all(all.map(worker => new Promise(resolve => worker.once('exit', resolve))))
  return result
}

function plainReads() {
  const [mine, counts] = [Number(workerData[6]), workerData[7]]
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true })
  const wasm = readFileSync(join(root, 'build/llm/tokens/kernels/tokens.wasm'))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), { env: { memory } })
  const u8 = new Uint8Array(memory.buffer)
  const fd = openSync(file)
  const bytes = 2 * (length + 1)
  const places = Math.floor((statSync(file).size - bytes) / 2)
  const [input, target] = [1 << 20, 2 << 20]
  while (Atomics.load(counts, workers) === 0) {
    readSync(fd, u8, 64, bytes, 2 * Math.floor(Math.random() * places))
    exports.widenPair(0, 8, 64, length + 1, input, target)
    Atomics.add(counts, mine, 1)
  }
}
