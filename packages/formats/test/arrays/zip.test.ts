/** The directory of ZIP archives: what is refused, and that nothing but a DecodeError comes out of damaged ones. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { DecodeError, MillraceError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import type { ReadPiece } from '../../arrays/read-file.js'
import { readZip } from '../../npz/zip.js'

const golden = join(import.meta.dirname, '../../../../test/golden/arrays')
const goldenBytes = (name: string): Buffer => readFileSync(join(golden, name))

const readOf =
  (bytes: Buffer): ReadPiece =>
  async (offset, length) =>
    Buffer.from(bytes.subarray(offset, offset + length))

const ENTRY = Buffer.from('PK\x01\x02')

/** The golden archive with another number in the directory's entry of its first member. */
function changed(name: string, place: number, value: number, size: 2 | 4 = 4): Buffer {
  const bytes = goldenBytes(name)
  const at = bytes.indexOf(ENTRY) + place
  if (size === 4) bytes.writeUInt32LE(value, at)
  else bytes.writeUInt16LE(value, at)
  return bytes
}

it('takes numbers of more than 32 bits from the extra field, those that do not fit alone', async () => {
  const bytes = goldenBytes('one-row.npz')
  for (const wide of [[24], [24, 20], [24, 20, 42], [42]]) {
    const end = bytes.lastIndexOf('PK\x05\x06')
    const entry = bytes.lastIndexOf(ENTRY, end)
    const begin = bytes.indexOf(ENTRY)
    // The wide numbers of the last member move into an extra field behind its name.
    const header = Buffer.from(bytes.subarray(entry, entry + 46))
    const name = bytes.subarray(entry + 46, entry + 46 + header.readUInt16LE(28))
    const extra = Buffer.alloc(4 + 8 * wide.length)
    extra.writeUInt16LE(1, 0)
    extra.writeUInt16LE(8 * wide.length, 2)
    wide.forEach((place, i) => {
      extra.writeBigUInt64LE(BigInt(header.readUInt32LE(place)), 4 + 8 * i)
      header.writeUInt32LE(0xffffffff, place)
    })
    header.writeUInt16LE(extra.length, 30)
    header.writeUInt16LE(0, 32)
    const tail = Buffer.from(bytes.subarray(end))
    tail.writeUInt32LE(entry + 46 + name.length + extra.length - begin, 12)
    const made = Buffer.concat([bytes.subarray(0, entry), header, name, extra, tail])
    expect(await readZip(readOf(made), made.length)).toEqual(await readZip(readOf(bytes), bytes.length))
  }
})

describe('readZip refuses', () => {
  const second = (bytes: Buffer): number => bytes.indexOf(ENTRY, bytes.indexOf(ENTRY) + 4)
  it.each<[string, () => Buffer, RegExp]>([
    ['encrypted members', () => changed('stored.npz', 8, 1, 2), /is encrypted/],
    ['other methods', () => changed('stored.npz', 10, 12, 2), /packed by method 12/],
    ['bombs', () => changed('deflated.npz', 24, 0x7fffffff), /which deflate can't do/],
    ['stored members of two sizes', () => changed('stored.npz', 24, 1), /stored in \d+ bytes, and has 1/],
    [
      'members that overlap',
      () => {
        const bytes = goldenBytes('stored.npz')
        bytes.writeUInt32LE(0, second(bytes) + 42)
        return bytes
      },
      /overlaps what follows/,
    ],
    [
      'two members of one name',
      () => {
        const bytes = goldenBytes('stored.npz')
        bytes.write('x', second(bytes) + 46)
        return bytes
      },
      /two members "x.npy"/,
    ],
    [
      'names that lead out of the archive',
      () => {
        const bytes = goldenBytes('stored.npz')
        bytes.write('../ab', bytes.indexOf(ENTRY) + 46)
        return bytes
      },
      /leads out of the archive/,
    ],
    ['what is no archive', () => Buffer.alloc(100), /is no zip archive/],
  ])('%s', async (_, make, why) => {
    const bytes = make()
    await expect(readZip(readOf(bytes), bytes.length)).rejects.toThrow(why)
    await expect(readZip(readOf(bytes), bytes.length)).rejects.toThrow(DecodeError)
  })
})

describe('damaged files', () => {
  let file = Buffer.alloc(0)
  let version = 0

  beforeAll(() => {
    process.env.MILLRACE_CACHE = join(temporaryFolder(), 'cache')
    const read = (offset: number, into: Uint8Array): void => {
      if (offset + into.length > file.length) throw new Error('behind the end')
      into.set(file.subarray(offset, offset + into.length))
    }
    const store = {
      merge: { gap: 0, most: 1 << 20 },
      stat: async () => ({ bytes: file.length, version: String(version) }),
      read: async (_name: string, offset: number, into: Uint8Array) => read(offset, into),
      close: () => undefined,
    }
    addStore('damaged', { attach: () => store })
  })

  /** Opens the bytes as a source, and reads all rows. */
  async function readAll(kind: string, rows: string): Promise<void> {
    version++
    const json = { [kind]: { path: `damaged://x.${kind}`, rows } } as unknown as SourceJson
    const source = attachSource(await openSource(json, { root: '/', wanted: [] }))
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    for (let row = 0; row < Math.min(source.count, 3); row++) await reader.read(row, source.columns)
  }

  it.each(['records.npy', 'stored.npz', 'deflated.npz', 'tensors.safetensors'])(
    '%s, changed anywhere, gives values or an error that names the file',
    async name => {
      const whole = goldenBytes(name)
      const kind = name.slice(name.lastIndexOf('.') + 1)
      const change = fc.record({
        // Most of what matters stands at the beginning and at the end.
        at: fc.oneof(
          fc.nat(300),
          fc.nat(700).map(n => whole.length - 1 - n),
          fc.nat(whole.length - 1),
        ),
        bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
      })
      const property = fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.option(fc.nat(whole.length), { freq: 5 }),
        fc.constantFrom('files', 'axis'),
        async (changes, length, rows) => {
          file = Buffer.from(whole.subarray(0, length ?? whole.length))
          for (const { at, bytes } of changes) Buffer.from(bytes).copy(file, Math.max(0, at))
          try {
            await readAll(kind, rows)
          } catch (error) {
            expect(error).toBeInstanceOf(MillraceError)
            expect((error as Error).message).toMatch(/damaged:\/\/x|column|no row|tile/)
          }
        },
      )
      await fc.assert(property)
    },
  )
})
