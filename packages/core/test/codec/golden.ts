/** The golden data of test/golden/codecs, made by the libraries that people use. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../../../test/golden/codecs')
const index = JSON.parse(readFileSync(join(folder, 'golden.json'), 'utf8')) as {
  contents: Record<string, [at: number, bytes: number]>
  compressed: [codec: string, how: string, content: string, at: number, bytes: number, repeat: number][]
  checksums: Record<string, { crc32c: number; fletcher32: number }>
}
const contentBytes = readFileSync(join(folder, 'contents.bin'))
const compressedBytes = readFileSync(join(folder, 'compressed.bin'))

export const checksums = index.checksums

export function content(name: string): Buffer {
  const [at, bytes] = index.contents[name]
  return contentBytes.subarray(at, at + bytes)
}

export interface Piece {
  codec: string
  /** What it is, to name a test. */
  name: string
  packed: Buffer
  content: Buffer
}

/** All pieces of a codec; of a shuffle, `codec` has the width of its elements, too. */
export function pieces(wanted: string): Piece[] {
  const found = index.compressed.filter(([codec]) => codec.split(' ')[0] === wanted)
  return found.map(([codec, how, name, at, bytes, repeat]) => ({
    codec,
    name: `${codec} (${how}) of ${name}`,
    packed: compressedBytes.subarray(at, at + bytes),
    content: Buffer.concat(Array.from({ length: repeat }, () => content(name))),
  }))
}
