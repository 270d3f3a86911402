/** Bad samples: what becomes of them is decided by the definition, the same way for any number of workers. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AnyBatch, digest, engine, type FeedJson, using } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { jpeg, writeShards } from '../../../../../test/support/pictures.js'
import type { OnErrorJson } from '../../../define/types.js'

const COUNT = 40
/** Bad in different ways: nothing, half a picture, text, a picture without its label. */
const BAD: Record<number, Uint8Array | string> = {
  5: '',
  11: jpeg(11, 16).subarray(0, 200),
  12: 'no picture at all',
  30: jpeg(30, 16).subarray(0, 100),
}
const root = temporaryFolder()
writeShards(root, COUNT, 2, i => [
  { name: `${i}.jpg`, data: BAD[i] ?? jpeg(i, 16) },
  { name: `${i}.cls`, data: String(i) },
  { name: `${i}.txt`, data: 'x'.repeat(i) },
])
const shardOf = (i: number) => `train-000${i < COUNT / 2 ? 0 : 1}.tar`
const badIds = Object.keys(BAD).map(i => `${shardOf(Number(i))}:${i}`)

const feed = (onError: OnErrorJson, order: FeedJson['order'] = 'none'): FeedJson => ({
  source: { tar: 'train-{0000..0001}.tar' },
  order,
  fields: {
    text: { from: 'txt', as: 'text', ragged: { max: 64 } },
    image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: 8 }] },
    label: { from: 'cls', as: 'int' },
    padded: { from: 'txt', as: 'bytes', pad: { to: 'longest', max: 64 } },
  },
  batch: { size: 8, last: 'keep' },
  onError,
})

interface Outcome {
  rows: number[]
  ids: string[]
  labels: number[]
  valid: number[]
  digests: string[]
  bad: { count: number; samples: { id: string; stage: string; message: string }[] }
  error?: string
}

async function run(json: FeedJson, workers: number): Promise<Outcome> {
  return using(json, { root, workers }, async loader => {
    const out: Outcome = {
      rows: [],
      ids: [],
      labels: [],
      valid: [],
      digests: [],
      bad: { count: 0, samples: [] },
    }
    try {
      for await (const batch of loader) {
        out.rows.push(batch.count)
        out.ids.push(...batch.ids)
        out.labels.push(...Array.from(batch.label as BigInt64Array, Number))
        out.valid.push(...batch.valid)
        out.digests.push(digest(batch, Object.keys(json.fields)))
        checkText(batch)
      }
    } catch (error) {
      expect(error).toBeInstanceOf(engine.MillraceError)
      out.error = (error as Error).message
    }
    return out.error === undefined || out.ids.length > 0 ? { ...out, bad: loader.stats().bad } : out
  })
}

/** Rows of varying length have moved together with the others. */
function checkText(batch: AnyBatch): void {
  const labels = Array.from(batch.label as BigInt64Array, Number)
  const text = batch.text as string[]
  expect(text.map(line => line.length)).toEqual(labels.map((label, i) => (batch.valid[i] ? label : 0)))
  expect(Array.from(batch.lengths('padded'))).toEqual(text.map(line => line.length))
}

const good = Array.from({ length: COUNT }, (_, i) => i).filter(i => BAD[i] === undefined)

describe('bad samples', () => {
  test('drop: holes are closed in order, and the report names each with its cause', async () => {
    const expected = await run(feed({ policy: 'drop' }), 0)
    expect(expected.error).toBeUndefined()
    expect(expected.labels).toEqual(good)
    expect(expected.rows).toEqual([7, 6, 8, 7, 8])
    expect(expected.bad.count).toBe(4)
    expect(expected.bad.samples.map(bad => bad.id)).toEqual(badIds)
    for (const { id, stage, message } of expected.bad.samples) {
      expect(stage).toBe('decode')
      expect(message).toContain(`sample ${id} (`)
      expect(message).toMatch(/train-000[01]\.tar at byte \d+\): decode of field "image" failed: /)
    }
    for (const workers of [1, 2, 5]) expect(await run(feed({ policy: 'drop' }), workers)).toEqual(expected)
  })

  test('mask: the row is zero and not valid', async () => {
    const expected = await run(feed({ policy: 'mask' }), 0)
    expect(expected.rows).toEqual([8, 8, 8, 8, 8])
    expect(expected.valid).toEqual(Array.from({ length: COUNT }, (_, i) => (BAD[i] === undefined ? 1 : 0)))
    expect(expected.labels).toEqual(expected.valid.map((valid, i) => valid * i))
    expect(expected.bad.samples.map(bad => bad.id)).toEqual(badIds)
    for (const workers of [1, 2, 5]) expect(await run(feed({ policy: 'mask' }), workers)).toEqual(expected)
  })

  test('fail: the first bad sample in order ends the run, by its name', async () => {
    const expected = await run(feed({ policy: 'fail' }), 0)
    expect(expected.rows).toEqual([])
    expect(expected.error).toMatch(
      /^sample train-0000\.tar:5 \(.*train-0000\.tar at byte \d+\): decode of field "image"/,
    )
    for (const workers of [1, 2, 5]) expect(await run(feed({ policy: 'fail' }), workers)).toEqual(expected)
  })

  test('fail: what came before is delivered, the state stands before the bad batch, and the next epoch can be had', async () => {
    const json = {
      ...feed({ policy: 'fail' }),
      source: { subset: { source: feed({ policy: 'fail' }).source, range: [13, 40] as [number, number] } },
    }
    await using(json, { root, workers: 2 }, async loader => {
      const labels: number[] = []
      const loop = async () => {
        for await (const batch of loader) labels.push(...Array.from(batch.label as BigInt64Array, Number))
      }
      await expect(loop()).rejects.toThrow(/train-0001\.tar:30/)
      expect(labels).toEqual(Array.from({ length: 16 }, (_, i) => 13 + i))
      expect(loader.state()).toMatchObject({ epoch: 0, position: 16 })
      await expect(loop()).rejects.toThrow(/train-0001\.tar:30/)
      expect(loader.state()).toMatchObject({ epoch: 1, position: 16 })
    })
  })

  test('budget: more bad samples than allowed end the run, at the same place', async () => {
    const expected = await run(feed({ policy: 'drop', budget: 2 }), 0)
    expect(expected.rows).toEqual([7])
    expect(expected.error).toMatch(
      /3 bad samples are more than onError\.budget = 2 allows; the last: sample train-0000\.tar:12/,
    )
    for (const workers of [1, 2, 5])
      expect(await run(feed({ policy: 'drop', budget: 2 }), workers)).toEqual(expected)
    expect((await run(feed({ policy: 'drop', budget: 4 }), 2)).error).toBeUndefined()
    expect((await run(feed({ policy: 'mask', budget: 3 }), 2)).error).toMatch(/4 bad samples/)
  })

  test('budget counts samples, not how often they come: bad ones in every epoch end no run', async () => {
    for (const policy of ['drop', 'mask'] as const) {
      const notices: string[] = []
      const options = { root, workers: 1, epochs: 3, notice: (text: string) => notices.push(text) }
      await using(feed({ policy, budget: 4 }), options, async loader => {
        let steps = 0
        for await (const _ of loader) steps++
        expect(steps).toBe(15)
        const { count, samples } = loader.stats().bad
        expect([count, samples.map(bad => bad.id)]).toEqual([4, badIds])
      })
      const done = policy === 'drop' ? 'dropped' : 'masked'
      // Those of later epochs are known already.
      expect(notices).toEqual([`epoch 0: 4 bad samples ${done}: ${badIds.slice(0, 3).join(', ')} and 1 more`])
    }
  })

  test('budget is a run’s: a state says nothing of bad samples', async () => {
    const json = feed({ policy: 'drop', budget: 3 })
    const state = await using(json, { root, workers: 0 }, async loader => {
      for await (const batch of loader) if (batch.position === 16) break
      expect(loader.stats().bad.count).toBe(3)
      return loader.state()
    })
    await using(json, { root, workers: 0, state }, async loader => {
      for await (const _ of loader);
      expect(loader.stats().bad.count).toBe(1)
    })
  })

  test('in any order, with mixing: the same for any workers', async () => {
    const json = feed({ policy: 'drop' }, { shuffle: 'global', seed: 2 })
    json.fields.image.apply = [{ randomResizedCrop: 8 }, { normalize: 'half' }]
    json.batch = { size: 6, last: 'pad', apply: [{ mixup: { classes: COUNT, label: 'label' } }] }
    delete json.fields.padded
    const all = (workers: number) =>
      using(json, { root, workers }, async loader => {
        const out: string[] = []
        for await (const batch of loader) out.push(digest(batch, Object.keys(json.fields)))
        return [out, loader.stats().bad]
      })
    const expected = await all(0)
    for (const workers of [1, 2, 5]) expect(await all(workers)).toEqual(expected)
  })
})

describe('fields that do not fit', () => {
  const message = async (json: FeedJson, workers = 1) =>
    (await run(json, workers).catch((error: Error) => ({ error: error.message }))).error

  test('a missing column names those that are there', async () => {
    const json = feed({ policy: 'fail' })
    json.fields = { image: json.fields.image, label: { from: 'clss|klass', as: 'int' } }
    expect(await message(json)).toMatch(
      /fields\.label\.from: the source has no column "clss" or "klass"; it has jpg, cls, txt: did you mean "cls"/,
    )
  })

  test('a missing column of files and lists names those that are there', async () => {
    const folder = temporaryFolder()
    writeFiles(folder, { 'a.txt': '1', 'list.csv': 'path,score\na.txt,3\n' })
    const label = (source: FeedJson['source']): FeedJson => ({
      source,
      fields: { label: { from: 'lable', as: 'int' } },
      batch: 1,
    })
    const list = join(folder, 'list.csv')
    expect(await message(label({ files: join(folder, '*.txt') }))).toMatch(
      /no column "lable"; it has txt, file, path, name/,
    )
    expect(await message(label({ files: { list } }))).toMatch(/no column "lable"; it has file, score, path/)
  })

  test('a row longer than max says which and by how much', async () => {
    const json = feed({ policy: 'fail' })
    json.fields.text = { from: 'txt', as: 'text', ragged: { max: 3 } }
    json.fields.padded = { from: 'txt', as: 'bytes', pad: { to: 'longest', max: 64 } }
    expect(await message(json)).toMatch(/train-0000\.tar:4 .*field "text" failed: .*4 .*3/)
    json.onError = { policy: 'drop' }
    json.fields.image = { from: 'jpg', as: 'bytes', ragged: { max: 1 } }
    expect(await message(json)).toBeUndefined()
  })

  test('a ragged batch above its total says which field', async () => {
    for (const workers of [0, 2]) {
      const json = feed({ policy: 'drop' })
      json.fields.text = { from: 'txt', as: 'text', ragged: { max: 40, total: 100 } }
      expect(await message(json, workers)).toMatch(
        /field "text" needs .* elements in this batch, but its "total" is 100: raise ragged\.total/,
      )
    }
  })

  test('garbage in a label names the sample and what was found', async () => {
    const json = feed({ policy: 'fail' })
    json.fields.label = { from: 'txt', as: 'int' }
    expect(await message(json)).toMatch(/train-0000\.tar:0 .*decode of field "label" failed/)
  })
})
