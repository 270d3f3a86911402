// Loading rows of tokens: Millrace with two workers beside nanoGPT's get_batch, PyTorch's DataLoader with two workers, and NumPy.
//
//   node bench/tokens/loading.mjs [--rounds 5] [--seconds 3] [--tokens 500000000] [--length 2048] [--batch 8] [--folder DIR]
//                                 [--python python3] [--only warm,cold] [--save]
//
// In each round every contender has one turn, in a process of its own; medians of the rounds are compared. Cold: the file is taken out
// of the page cache before each turn. With --save the table goes to bench/results/tokens-loading.md. On a machine where other
// programs run, CPU time says more than the clock.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, root, stamp } from '../support.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '500000000' },
    length: { type: 'string', default: '2048' },
    batch: { type: 'string', default: '8' },
    workers: { type: 'string', default: '2' },
    folder: { type: 'string', default: join(tmpdir(), 'millrace-bench-tokens') },
    python: { type: 'string', default: 'python3' },
    only: { type: 'string', default: 'warm,cold' },
    save: { type: 'boolean', default: false },
  },
})
const { length, batch, workers, seconds } = values
const here = join(root, 'bench/tokens')
const file = join(values.folder, 'tokens.bin')
mkdirSync(values.folder, { recursive: true })

const python = (...args) =>
  execFileSync(values.python, [join(here, 'loading.py'), ...args], { encoding: 'utf8', timeout: 600_000 })
const inPython =
  (kind, threads = workers) =>
  () =>
    JSON.parse(python(kind, file, length, batch, threads, seconds))
const inNode =
  (kind, threads = workers) =>
  () => {
    const args = [join(here, 'side.mjs'), kind, file, length, batch, threads, seconds]
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 600_000 }))
  }

/** Bars: how many times as fast as another Millrace is at least. */
const PARTS = {
  warm: {
    contenders: {
      'Millrace in Node, 2 workers': inNode('millrace'),
      'Millrace in Python, 2 workers': inPython('millrace'),
      "nanoGPT's get_batch": inPython('nanogpt'),
      'DataLoader, 2 workers': inPython('dataloader'),
      'NumPy, fancy index + astype': inPython('numpy'),
      'plain pread + widening, 2 threads': inNode('pread'),
    },
    bars: { "nanoGPT's get_batch": 1.5, 'DataLoader, 2 workers': 20, 'NumPy, fancy index + astype': 0.3 },
  },
  cold: {
    contenders: {
      'Millrace in Node, 2 workers': inNode('millrace'),
      'plain pread + widening, 1 thread': inNode('pread', '1'),
      'plain pread + widening, 2 threads': inNode('pread'),
      "nanoGPT's get_batch": inPython('nanogpt'),
    },
    bars: { 'plain pread + widening, 1 thread': 2.5 },
  },
}

process.stderr.write(`${file}: ${values.tokens} tokens\n`)
python('make', file, values.tokens)
const lines = [
  '# Loading rows of tokens',
  '',
  `Rows of ${length} tokens (u16 in the file, int64 in the batch), inputs and targets, batches of ${batch}, at random out of ${values.tokens} ` +
    `tokens. Medians of ${values.rounds} interleaved rounds of ${seconds} s. Made by \`node bench/tokens/loading.mjs --save\`.`,
  '',
  `${JSON.stringify(stamp()).replaceAll('"', '').replace(/[{}]/g, '').replaceAll(',', ', ')}`,
]
for (const part of values.only.split(',')) {
  const { contenders, bars } = PARTS[part]
  const turns = Object.fromEntries(Object.keys(contenders).map(name => [name, []]))
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, turn] of Object.entries(contenders)) {
      if (part === 'cold') python('drop', file)
      const result = turn()
      turns[name].push(result)
      const rate = Math.round(result.rows / result.seconds)
      process.stderr.write(
        `${part}, round ${round + 1}: ${name}: ${rate} rows/s, ${cpuOf(result).toFixed(1)} CPU s\n`,
      )
    }
  }
  const rates = mapped(turns, all => median(all.map(({ rows, seconds: took }) => rows / took)))
  const cpus = mapped(turns, all => median(all.map(cpuOf)))
  const [ours] = Object.keys(contenders)
  lines.push('', `## ${part === 'warm' ? 'Warm' : 'Cold'}`, '')
  lines.push(
    '| | rows/s | tokens/s | CPU s per 10⁹ tokens | Millrace is | bar |',
    '|---|---:|---:|---:|---:|---:|',
  )
  for (const name of Object.keys(contenders)) {
    const ratio = rates[ours] / rates[name]
    const bar = bars[name] === undefined ? '' : `≥ ${bars[name]} ${ratio >= bars[name] ? '✓' : '✗'}`
    const shown = name === ours ? '' : `${ratio.toFixed(2)} ×`
    const tokens = `${((rates[name] * Number(length)) / 1e6).toFixed(0)} M`
    lines.push(
      `| ${name} | ${Math.round(rates[name])} | ${tokens} | ${cpus[name].toFixed(2)} | ${shown} | ${bar} |`,
    )
  }
}
const text = `${lines.join('\n')}\n`
console.log(text)
if (values.save) writeFileSync(join(root, 'bench/results/tokens-loading.md'), text)

/** CPU seconds for 10⁹ tokens. */
function cpuOf({ rows, cpu }) {
  return (cpu / (rows * Number(length))) * 1e9
}

function mapped(record, each) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, each(value)]))
}
