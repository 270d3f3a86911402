/**
 * Indexes with changed bytes: whatever is done to the file, the samples are the same, or the index is rebuilt with a
 * notice. Wrong labels, and errors of any kind, are not among the outcomes.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'
import type { SourceJson } from '../../../define/types.js'
import { attachSource, openSource } from '../../../source/registry.js'
import { needOf } from '../../../source/row-reader.js'

const root = temporaryFolder()
const SEED = 13

const kinds: { kind: string; json: SourceJson; index: string; columns: string[] }[] = [
  { kind: 'tar', json: { tar: 'a.tar' }, index: '.a.tar.millrace', columns: ['cls', 'txt'] },
  { kind: 'folder', json: { folder: 'f' }, index: '.f.millrace', columns: ['label'] },
]

beforeAll(() => {
  process.env.MILLRACE_CACHE = join(root, '.cache')
  const members = Array.from({ length: 40 }, (_, i) => [
    { name: `k${i}.cls`, data: String(i % 7) },
    { name: `k${i}.txt`, data: `text ${i}`.padEnd(90) },
  ])
  writeFileSync(join(root, 'a.tar'), tarFile(members.flat()))
  writeFiles(
    root,
    Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f/class ${i % 5}/${i}.jpg`, 'x'.repeat(i)])),
  )
})

describe.each(kinds)('the index of $kind', ({ json, index: name, columns }) => {
  const index = join(root, name)

  /** All that the index says, and the notices that came with it. */
  async function look(): Promise<{ rows: unknown[]; notices: string[] }> {
    const notices: string[] = []
    const manifest = await openSource(json, { root, wanted: [], notice: text => notices.push(text) })
    const source = attachSource(manifest)
    const rows = Array.from({ length: source.count }, (_, row) => [
      source.id(row),
      source.keyHash?.(row),
      needOf(source, row, source.columns).ranges.map(({ file, offset, length }) => [file, offset, length]),
      columns.map(column => source.index(column)?.at(row)),
      source.sample(row, 0, columns, { ranges: [new Uint8Array(4096)], units: [] }),
    ])
    return { rows: [manifest.fingerprint, ...rows], notices }
  }

  async function original(): Promise<{ bytes: Buffer; rows: unknown[] }> {
    const { rows } = await look()
    return { bytes: readFileSync(index), rows }
  }

  it('with flipped, cut or repeated bytes gives the same samples, or is rebuilt with a notice', async () => {
    const { bytes, rows } = await original()
    let rebuilt = 0
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          { weight: 6, arbitrary: fc.record({ at: fc.nat(bytes.length - 1), bit: fc.nat(7) }) },
          { weight: 1, arbitrary: fc.record({ cut: fc.nat(bytes.length - 1) }) },
          {
            weight: 1,
            arbitrary: fc.record({ from: fc.nat(bytes.length - 1), to: fc.nat(bytes.length - 1) }),
          },
        ),
        async change => {
          const changed = Buffer.from(bytes)
          if ('at' in change) changed[change.at] ^= 1 << change.bit
          if ('from' in change)
            changed.set(
              bytes.subarray(change.from, change.from + 64).subarray(0, bytes.length - change.to),
              change.to,
            )
          const file = 'cut' in change ? changed.subarray(0, change.cut) : changed
          replace(index, file)
          const found = await look()
          expect(found.rows).toEqual(rows)
          expect(found.notices.length).toBeLessThanOrEqual(1)
          rebuilt += found.notices.length
          if (found.notices.length === 0) {
            expect(readFileSync(index).equals(file)).toBe(true) // padding, or the same bytes: it is still in use
            return
          }
          expect(found.notices[0]).toMatch(/is rebuilt: .*(torn|damaged|malformed|not an index|format \d)/)
        },
      ),
      { seed: SEED },
    )
    expect(rebuilt).toBeGreaterThan(70)
    replace(index, bytes)
  })

  it('with a malformed header whose checksum is right gives the same samples, or is rebuilt with a notice', async () => {
    const { bytes, rows } = await original()
    const length = bytes.readUInt32LE(12)
    const header = JSON.parse(bytes.toString('utf8', 64, 64 + length))
    const paths = pathsOf(header).filter(path => path.join('.') !== 'meta.digest')
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.constantFrom<unknown>(undefined, null, -1, 0, 1, 1.5, 2 ** 31, 1e300, '', 'u8', 'x', [], {}, true),
        async (path, value) => {
          replace(index, withHeader(bytes, length, changedAt(header, path, value)))
          const found = await look()
          expect(found.rows.slice(1)).toEqual(rows.slice(1))
          expect(found.notices.length).toBeLessThanOrEqual(1)
        },
      ),
      { seed: SEED },
    )
    replace(index, bytes)
  })
})

/** Puts an index in place as a new file: one that is mapped must not be cut. */
function replace(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes)
  renameSync(`${path}.new`, path)
}

/** The paths to all values in a header. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const inner = Object.entries(value).flatMap(([name, part]) => pathsOf(part, [...path, name]))
  return path.length === 0 ? inner : [path, ...inner]
}

function changedAt(header: unknown, path: readonly string[], value: unknown): unknown {
  const copy = structuredClone(header) as Record<string, unknown>
  const parent = path.slice(0, -1).reduce((part, name) => part[name] as Record<string, unknown>, copy)
  parent[path.at(-1) as string] = value
  return copy
}

/** The same columns behind another header; its size is made right, unless it was that which changed. */
function withHeader(bytes: Buffer, length: number, header: unknown): Buffer {
  const align = (n: number) => Math.ceil(n / 64) * 64
  const text = Buffer.from(JSON.stringify(header))
  const columns = bytes.subarray(align(64 + length))
  const front = Buffer.alloc(align(64 + text.length))
  bytes.copy(front, 0, 0, 64)
  front.writeUInt32LE(text.length, 12)
  front.writeUInt32LE(crc32(text), 16)
  front.set(text, 64)
  return Buffer.concat([front, columns])
}
