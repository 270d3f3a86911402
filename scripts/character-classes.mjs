// Writes packages/llm/tokenize/scan/class-table.ts: the class of each character, as the package `tokenizers` has it, whose Unicode version
// may be another than this Node's. Run it when that package is renewed: node scripts/character-classes.mjs
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { Tokenizer } from 'tokenizers'

const root = join(import.meta.dirname, '..')
/** In the order in which they are set: what comes later holds. The numbers are those of scan/classes.ts. */
const CLASSES = [
  ['\\s', 1],
  ['[\\r\\n]', 2],
  ['\\p{N}', 3],
  ['\\p{Lu}', 4],
  ['\\p{Lt}', 4],
  ['\\p{Ll}', 5],
  ['\\p{Lm}', 6],
  ['\\p{Lo}', 6],
  ['\\p{M}', 7],
]
const BLOCK = 128
const AT_ONCE = 20_000

/** What a pattern leaves of a text. */
function remover(pattern) {
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Removed', invert: false }
  const model = { type: 'BPE', vocab: {}, merges: [] }
  const tokenizer = Tokenizer.fromString(
    JSON.stringify({ version: '1.0', added_tokens: [], pre_tokenizer: split, model }),
  )
  return tokenizer.getPreTokenizer()
}

const points = Array.from({ length: 0x110000 }, (_, point) => point).filter(
  point => point < 0xd800 || point > 0xdfff,
)
const classes = new Uint8Array(0x110000)
for (const [pattern, number] of CLASSES) {
  const remove = remover(pattern)
  for (let at = 0; at < points.length; at += AT_ONCE) {
    const some = points.slice(at, at + AT_ONCE)
    const left = remove.preTokenizeString(String.fromCodePoint(...some)).map(([text]) => text)
    const others = new Set(Array.from(left.join(''), character => character.codePointAt(0)))
    for (const point of some) if (!others.has(point)) classes[point] = number
  }
}

const numbers = new Map()
const blocks = []
const places = new Uint16Array(classes.length / BLOCK)
for (const i of places.keys()) {
  const block = Buffer.from(classes.subarray(i * BLOCK, (i + 1) * BLOCK))
  const key = block.toString('latin1')
  if (!numbers.has(key)) numbers.set(key, blocks.push(block) - 1)
  places[i] = numbers.get(key)
}
const bytes = Buffer.concat([Buffer.from(places.buffer), ...blocks])
const lines = deflateRawSync(bytes, { level: 9 })
  .toString('base64')
  .match(/.{1,100}/g)
const { version } = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('tokenizers/package.json'), 'utf8'),
)
const text = `// Written by scripts/character-classes.mjs with tokenizers ${version}. Do not edit.

/** Places of blocks (u16, ${places.length} of them) and ${blocks.length} blocks of ${BLOCK} classes: deflated, in base64. */
export const CLASS_TABLE =
${lines.map(line => `  '${line}'`).join(' +\n')}
`
writeFileSync(join(root, 'packages/llm/tokenize/scan/class-table.ts'), text)
console.log(`${blocks.length} blocks, ${text.length} characters`)
