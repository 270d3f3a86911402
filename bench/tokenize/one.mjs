// One measurement of compare.mjs, in a process of its own: node one.mjs FOLDER ours|encode|encodeBatch|worst|open VOCABULARY [CORPUS]
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { attachTokenizer, openTokenizer } from '../../build/llm/tokenize/open.js'
import { ranksFile } from '../../test/golden/tokenize/vocabularies.mjs'

const [folder, what, name, corpus] = process.argv.slice(2)
/** Bytes that the package gets. */
const SAMPLE = 3e6

const file = name === 'llama3' ? join(folder, 'llama3.json') : ranksFile(name)
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
const texts = () =>
  readFileSync(join(folder, `${corpus}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

let state = 1
const random = n => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * n)
}
const many = (count, make) => Buffer.from(Array.from({ length: count }, make).join(''))
const WORST = {
  'random letters': n => many(n, () => String.fromCharCode(97 + random(26))),
  'random capitals': n => many(n, () => String.fromCharCode(65 + random(26))),
  'random CJK': n => many(Math.ceil(n / 3), () => String.fromCharCode(0x4e00 + random(20_000))),
  blanks: n => Buffer.alloc(n, ' '),
  'one letter': n => Buffer.alloc(n, 'a'),
  digits: n => many(n, () => String(random(10))),
  emoji: n => many(n >> 2, () => String.fromCodePoint(0x1f300 + random(700))),
  signs: n => many(n, () => String.fromCharCode(33 + random(15))),
}

const RUNS = {
  async ours() {
    const tokenizer = attachTokenizer(await openTokenizer(file, '/'))
    const all = texts().map(text => Buffer.from(text))
    const bytes = all.reduce((sum, { length }) => sum + length, 0)
    const out = new Uint32Array(tokenizer.room(Math.max(...all.map(({ length }) => length))))
    const before = cpu()
    let tokens = 0
    for (const text of all) tokens += tokenizer.encode(text, out, 0)
    return { rate: bytes / 1e6 / (cpu() - before), tokens }
  },
  encode: () =>
    theirs(async (tokenizer, all) => {
      for (const text of all) await tokenizer.encode(text, null, { addSpecialTokens: false })
    }),
  encodeBatch: () =>
    theirs(async (tokenizer, all) => {
      for (let at = 0; at < all.length; at += 200)
        await tokenizer.encodeBatch(all.slice(at, at + 200), { addSpecialTokens: false })
    }),
  async worst() {
    const opened = await openTokenizer(file, '/')
    const rates = {}
    for (const [kind, make] of Object.entries(WORST)) {
      // Each with a tokenizer of its own, which has met no word.
      rates[kind] = [1, 4].map(size => {
        const tokenizer = attachTokenizer(opened)
        const text = make(size << 20)
        const out = new Uint32Array(tokenizer.room(text.length))
        const before = cpu()
        tokenizer.encode(text, out, 0)
        return text.length / 1e6 / (cpu() - before)
      })
    }
    return rates
  },
  async open() {
    const start = cpu()
    const opened = await openTokenizer(file, '/')
    const between = cpu()
    attachTokenizer(opened)
    return {
      open: 1000 * (between - start),
      attach: 1000 * (cpu() - between),
      bytes: opened.vocabulary.memory.length,
    }
  },
}

async function theirs(run) {
  const { Tokenizer } = await import('tokenizers')
  const tokenizer = Tokenizer.fromFile(join(folder, `${name}.json`))
  let bytes = 0
  const all = texts().filter(text => {
    if (bytes >= SAMPLE) return false
    bytes += Buffer.byteLength(text)
    return true
  })
  const before = cpu()
  await run(tokenizer, all)
  return { rate: bytes / 1e6 / (cpu() - before) }
}

console.log(JSON.stringify(await RUNS[what]()))
