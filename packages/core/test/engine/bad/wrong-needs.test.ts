/** A plugin's source that asks for something impossible: the sample is bad, with a reason, and no thread ends for it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type FeedJson, open } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'

const folder = temporaryFolder()
const file = join(folder, 'a.bin')
writeFileSync(file, new Uint8Array(1000))
const BAD = 33

/** What a run tells of the samples that were bad, where the source asks so for row 33. */
async function reasons(name: string, members: string, workers: number, order: FeedJson['order']) {
  const path = join(folder, `${name}.mjs`)
  writeFileSync(
    path,
    `const file = ${JSON.stringify(file)}, bad = ${BAD}
    const attach = () => ({
      count: 60, columns: ['data', 'more'], runs: Float64Array.of(0), id: String, key: String, index() {},
      unitStarts: Float64Array.from({ length: 6 }, (_, unit) => 10 * unit),
      need(row, epoch, columns, out) {
        out.ranges.push({ file, offset: row, length: 1 })
        const unit = Math.floor(row / 10)
        if (row !== bad || !this.asks?.(out, unit)) out.units.push({ leaf: this, unit, columns })
      },
      planUnit: unit => [{ file, offset: 10 * unit, length: 10 }],
      unitBytes: () => 10,
      sample: (row, epoch, columns, { ranges }) => ({ data: ranges[0] }),
      ${members}
    })
    const open = () => ({ fingerprint: { count: 60, digest: 'd' } })
    export default { sources: { ${name}: { open, attach } } }`,
  )
  const json = {
    source: { [name]: {} },
    order,
    fields: { data: { from: 'data', as: 'bytes', ragged: { max: 8 } } },
    batch: { size: 8, last: 'keep' },
    onError: { policy: 'drop', budget: 100 },
  } as unknown as FeedJson
  await using loader = open(json, { plugins: [path], workers, epochs: 1 })
  let rows = 0
  for await (const batch of loader) rows += batch.ids.length
  const { count, samples } = loader.stats().bad
  return { rows, count, reported: samples[0]?.message }
}

const wrong: [string, string, string][] = [
  ['needThrows', 'asks() { throw new Error("no idea") }', 'no idea'],
  ['needThrowsText', 'asks() { throw "no idea" }', 'no idea'],
  [
    'beforeTheFile',
    'asks: ({ ranges }) => ranges.push({ file, offset: -1, length: 4 })',
    'a range should have a file, an offset and a length, not {"file":',
  ],
  [
    'noLength',
    'asks: ({ ranges }) => ranges.push({ file, offset: 1 })',
    'a range should have a file, an offset and a length',
  ],
  [
    'noNumber',
    'asks({ units }) { return units.push({ leaf: this, unit: NaN, columns: ["data"] }) }',
    'need asks for unit NaN, and there are 6: units are numbered from 0',
  ],
  [
    'behindTheLast',
    'asks({ units }) { return units.push({ leaf: this, unit: 6, columns: ["data"] }) }',
    'need asks for unit 6, and there are 6',
  ],
  [
    'otherLeaf',
    'asks({ units }) { return units.push({ leaf: {}, unit: 0, columns: ["data"] }) }',
    'need asks for a unit of another source',
  ],
  [
    'otherColumns',
    `asks({ units }, unit) {
      return ['data', 'more'].map(name => units.push({ leaf: this, unit, columns: [name] }))
    }`,
    'need should ask once, with all of them',
  ],
  [
    'sampleThrowsNull',
    'sample(row, e, c, { ranges }) { if (row === bad) throw null; return { data: ranges[0] } }',
    'null',
  ],
]

describe.each([0, 2])('with %i workers', workers => {
  test.each(wrong)('%s', async (name, members, message) => {
    for (const order of ['none', { shuffle: { window: 50 }, seed: 1 }] as const) {
      const { rows, count, reported } = await reasons(name, members, workers, order)
      expect(reported).toContain(`sample ${BAD}`)
      expect(reported).toContain(message)
      expect([rows, count]).toEqual([59, 1])
    }
  })
})
