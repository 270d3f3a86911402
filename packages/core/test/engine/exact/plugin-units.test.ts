/** Sources of plugins with units and moving rows: what the cache keeps must never come to another row, unit or epoch. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type FeedJson, type OpenOptions, open } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'

const folder = temporaryFolder()
const ROWS = 200
const UNIT = 10

/** Byte i of the file is i / 8. */
const file = join(folder, 'a.bin')
writeFileSync(
  file,
  Uint8Array.from({ length: 8 * ROWS }, (_, i) => i / 8),
)

/** Writes a plugin whose source is of the same name, with these members beside the plain ones. Gives its path. */
function plugin(name: string, members: string, stores = ''): string {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(
    path,
    `import { setTimeout as sleep } from 'node:timers/promises'
    const file = ${JSON.stringify(file)}
    const source = () => ({
      count: ${ROWS}, columns: ['data'], runs: Float64Array.of(0), id: String, key: String, index() {}, ${members}
    })
    const open = () => ({ fingerprint: { count: ${ROWS}, digest: 'd' } })
    export default { sources: { ${name}: { open, attach: source } }, stores: { ${stores} } }`,
  )
  return path
}

/** The members of a source with a unit for every ten rows. */
const units = (plan: string, more: string): string =>
  `unitStarts: Float64Array.from({ length: ${ROWS / UNIT} }, (_, unit) => ${UNIT} * unit),
  need(row, epoch, columns, out) { out.units.push({ leaf: this, unit: Math.floor(row / ${UNIT}), columns }) },
  planUnit: unit => ${plan}, unitBytes: () => 1000, ${more}`

/** All rows of some epochs: epoch, number and bytes of each. */
async function rowsOf(path: string, name: string, options: OpenOptions, rest: Partial<FeedJson> = {}) {
  const json = {
    source: { [name]: {} },
    order: { shuffle: { window: 150 }, seed: 3 },
    fields: { data: { from: 'data', as: 'bytes', ragged: { max: 8 } } },
    batch: { size: 16, last: 'keep' },
    ...rest,
  } as unknown as FeedJson
  const rows: [epoch: number, row: number, bytes: number[]][] = []
  await using loader = open(json, { plugins: [path], ...options })
  for await (const batch of loader) {
    const { values, offsets } = batch.data as { values: Uint8Array; offsets: Int32Array }
    batch.ids.forEach((id, i) => {
      rows.push([batch.epoch, Number(id), [...values.subarray(offsets[i], offsets[i + 1])]])
    })
  }
  return rows
}

describe.each([0, 2])('with %i workers', workers => {
  test('rows that move with the epoch have the bytes of their epoch, also of one before the last', async () => {
    const name = 'moving'
    const path = plugin(
      name,
      `movesWithEpoch: true,
      need: (row, epoch, columns, { ranges }) =>
        ranges.push({ file, offset: 8 * ((row + 3 * epoch) % ${ROWS}), length: 8 }),
      sample: (row, epoch, columns, { ranges }) => ({ data: ranges[0] })`,
    )
    const rows = await rowsOf(path, name, { workers, epochs: 5 })
    expect(rows.length).toBe(5 * ROWS)
    const wrong = rows.filter(([epoch, row, bytes]) => bytes.some(byte => byte !== (row + 3 * epoch) % ROWS))
    expect(wrong).toEqual([])
  })

  test('a load may return pieces of which some lie elsewhere', async () => {
    const name = 'elsewhere'
    const path = plugin(
      name,
      units(
        `[{ file, offset: ${8 * UNIT} * unit, length: ${8 * UNIT} }]`,
        `load(unit, [piece], into) {
          into.set(piece)
          return [Uint8Array.from(piece, byte => byte + 1), into.subarray(0, piece.length)]
        },
        sample: (row, epoch, columns, { units: [[more, same]] }) =>
          ({ data: Uint8Array.from([more, same], piece => piece[8 * (row % ${UNIT})]) })`,
      ),
    )
    const rows = await rowsOf(path, name, { workers, epochs: 1 })
    expect(rows.length).toBe(ROWS)
    expect(rows.filter(([, row, [more, same]]) => more !== row + 1 || same !== row)).toEqual([])
  })

  test('a read of a unit that failed writes no more into memory that is another unit’s now', async () => {
    const name = 'late'
    // Of every fourth unit, one range can't be read, and the other one comes late.
    const path = plugin(
      name,
      units(
        `[0, 1].map(part => ({ file: 'late://a', offset: 2 * unit + part, length: 500 }))`,
        `sample: (row, epoch, columns, { units: [[a, b]] }) => ({ data: Uint8Array.of(a[0], b[499]) })`,
      ),
      `late: { attach: () => ({
        merge: { gap: 0, most: 500 },
        stat: async () => ({ bytes: 1e6, version: '' }),
        async read(name, offset, into) {
          const unit = offset >> 1
          if (unit % 4 === 0 && offset % 2 === 0) throw new Error('not this one')
          await sleep(unit % 4 === 0 ? 30 : 1)
          into.fill(unit)
        },
        close() {},
      }) }`,
    )
    const onError = { policy: 'drop', budget: 10_000 } as const
    const rows = await rowsOf(path, name, { workers, epochs: 3, cache: 2 ** 20 }, { order: 'none', onError })
    expect(rows.length).toBe((3 * 3 * ROWS) / 4)
    const wrong = rows.filter(([, row, bytes]) => bytes.some(byte => byte !== Math.floor(row / UNIT)))
    expect(wrong).toEqual([])
  })
})
