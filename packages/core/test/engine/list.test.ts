/** A feed over a list of files: labels by number and by name, boxes from a cell, weights and parts by its columns. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { jpeg } from '../../../../test/support/pictures.js'

const root = temporaryFolder()
const COUNT = 24
for (let i = 0; i < COUNT; i++) writeFiles(root, { [`images/${i}.jpg`]: jpeg(i, 16) })
const lines = Array.from(
  { length: COUNT },
  (_, i) => `${i}.jpg,${i < 20 ? 0 : 1},${i < 20 ? 'cat' : 'dog'},${i}.0,"[[1, 2, ${i + 2}, 4]]"`,
)
writeFileSync(join(root, 'train.csv'), `file,label,animal,age,boxes\r\n${lines.join('\r\n')}\r\n`)

const source: FeedJson['source'] = { files: { list: 'train.csv', path: 'file', root: 'images' } }
const feed = (more: Partial<FeedJson> = {}): FeedJson => ({
  source,
  fields: {
    image: { from: 'image', as: 'image', apply: [{ centerCrop: 8 }] },
    label: { from: 'label', as: 'int', dtype: 'i32' },
    animal: { from: 'animal', as: 'class', classes: ['dog', 'cat'], dtype: 'i32' },
    age: { from: 'age', as: 'int', dtype: 'i32' },
    boxes: { from: 'boxes', as: 'boxes' },
  },
  batch: { size: 6, last: 'keep' },
  ...more,
})

const column = (json: FeedJson, name: string) =>
  using(json, { root, workers: 1 }, async loader => {
    const out: number[] = []
    for await (const batch of loader) out.push(...(batch[name] as Int32Array))
    return out
  })

describe('a list of files', () => {
  test('gives its cells as labels, names, numbers and boxes', async () => {
    expect(await column(feed(), 'label')).toEqual(Array.from({ length: COUNT }, (_, i) => (i < 20 ? 0 : 1)))
    expect(await column(feed(), 'animal')).toEqual(Array.from({ length: COUNT }, (_, i) => (i < 20 ? 1 : 0)))
    expect(await column(feed(), 'age')).toEqual(Array.from({ length: COUNT }, (_, i) => i))
    await using(feed(), { root, workers: 0 }, async loader => {
      for await (const batch of loader) {
        const { values } = batch.boxes as { values: Float32Array }
        expect([...values.subarray(0, 4)]).toEqual([1, 2, 2, 4])
        expect((batch.image as Uint8Array).some(value => value > 0)).toBe(true)
        break
      }
    })
  })

  test('can be balanced, chosen from and divided by its columns', async () => {
    const balanced = await column(
      feed({ order: { weights: { balance: 'animal' }, samples: 400, seed: 1 } }),
      'label',
    )
    const dogs = balanced.filter(label => label === 1).length
    expect(Math.abs(dogs - 200)).toBeLessThan(60) // σ = 10; without balance 67
    const chosen = { subset: { source, where: { age: { '>=': 18 }, animal: 'dog' } } }
    expect(await column(feed({ source: chosen }), 'age')).toEqual([20, 21, 22, 23])
    const part = { split: { source, parts: { a: 0.75, b: 0.25 }, take: 'b', stratifyBy: 'animal' } }
    expect(await column(feed({ source: part }), 'label')).toEqual([0, 0, 0, 0, 0, 1])
  })

  test('has the list in its order hash', async () => {
    const hash = () =>
      using(feed(), { root, workers: 0 }, async loader => {
        await loader.ready
        return loader.state().order
      })
    const before = await hash()
    writeFileSync(
      join(root, 'train.csv'),
      `file,label,animal,age,boxes\n${lines.join('\n').replace('cat', 'dog')}\n`,
    )
    expect(await hash()).not.toBe(before)
  })
})
