/** Documents, and what becomes of them by the shortest way: JSON.parse, the tokenizer, Megatron's layout written by hand. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { TokenizeOptions, TokenizeResult } from '../../../prepare/tokenize/options.js'
import { tokenize } from '../../../prepare/tokenize/tokenize.js'
import { attachTokenizer, openTokenizer } from '../../../tokenize/open.js'

/** The vocabulary that ships with Millrace. */
export const TOKENIZER = 'millrace-4k'

/** Tokenises files of a folder into `out` there, in the calling thread, unless told otherwise. */
export function tokenized(
  folder: string,
  paths: string[],
  more: Partial<TokenizeOptions> = {},
): Promise<TokenizeResult> {
  return tokenize(paths, {
    tokenizer: { path: TOKENIZER },
    out: 'out',
    format: 'megatron',
    key: 'text',
    lines: false,
    eod: false,
    workers: 0,
    onError: 'fail',
    budget: 100,
    restart: false,
    root: folder,
    ...more,
  })
}

export async function tokensOf(texts: readonly string[], eod = false): Promise<number[][]> {
  const opened = await openTokenizer(TOKENIZER, '.')
  const tokenizer = attachTokenizer(opened)
  return texts
    .map(text => {
      const bytes = Buffer.from(text)
      const out = new Uint32Array(bytes.length)
      return [...out.subarray(0, tokenizer.encode(bytes, out, 0))]
    })
    .filter(tokens => tokens.length > 0)
    .map(tokens => (eod ? [...tokens, opened.eod!] : tokens))
}

/** The two files of Megatron, u16, one sequence a document. */
export function megatron(documents: readonly (readonly number[])[]): { bin: Buffer; idx: Buffer } {
  const bin = Buffer.from(Uint16Array.from(documents.flat()).buffer)
  const count = documents.length
  const idx = Buffer.alloc(34 + 12 * count + 8 * (count + 1))
  idx.write('MMIDIDX\0\0', 'latin1')
  idx.writeBigUInt64LE(1n, 9)
  idx.writeUInt8(8, 17)
  idx.writeBigUInt64LE(BigInt(count), 18)
  idx.writeBigUInt64LE(BigInt(count + 1), 26)
  let pointer = 0
  documents.forEach((document, i) => {
    idx.writeInt32LE(document.length, 34 + 4 * i)
    idx.writeBigInt64LE(BigInt(pointer), 34 + 4 * count + 8 * i)
    pointer += 2 * document.length
  })
  for (let i = 0; i <= count; i++) idx.writeBigInt64LE(BigInt(i), 34 + 12 * count + 8 * i)
  return { bin, idx }
}

/** Of long files only digests are compared: to show where megabytes differ takes minutes. */
export const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export const digests = ({ bin, idx }: { bin: Buffer; idx: Buffer }) => ({
  bin: digest(bin),
  idx: digest(idx),
})

export function filesAt(prefix: string): { bin: Buffer; idx: Buffer } {
  return { bin: readFileSync(`${prefix}.bin`), idx: readFileSync(`${prefix}.idx`) }
}

/** The documents of a pair of files, by the lengths in its index. */
export function documentsAt(prefix: string): number[][] {
  const { bin, idx } = filesAt(prefix)
  const count = Number(idx.readBigUInt64LE(18))
  const tokens = new Uint16Array(bin.buffer.slice(bin.byteOffset, bin.byteOffset + bin.length))
  let at = 0
  return Array.from({ length: count }, (_, i) => {
    const length = idx.readInt32LE(34 + 4 * i)
    at += length
    return [...tokens.subarray(at - length, at)]
  })
}

const WORDS = 'the river turns a wheel, and "stone" grinds\twheat; été 水車 🌊 don\'t stop\n'.split(' ')

/** A text that no other number gives. */
export function textOf(number: number): string {
  if (number % 41 === 7) return ''
  const words = 1 + ((number * 7919) % 60)
  return `${number}: ${Array.from({ length: words }, (_, i) => WORDS[(number * (i + 3)) % WORDS.length]).join(' ')}`
}

/** A line of JSON: with other keys around the text, and escapes of several kinds. */
export function lineOf(text: string, number: number): string {
  const value =
    number % 3 === 0
      ? JSON.stringify(text).replace(
          /[^\0-\x7e]/g,
          unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
      : JSON.stringify(text)
  const line = `{"id": ${number}, "meta": {"text": "no", "list": [1, {"text": null}]}, "text": ${value}}`
  return number % 10 === 4 ? `  ${line} \r` : line
}

export const texts = (count: number, first = 0): string[] =>
  Array.from({ length: count }, (_, i) => textOf(first + i))
