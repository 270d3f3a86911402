/** Functions of the user's in Python: on fields, over the sample, with a generator of the sample's own. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AnyBatch, digests, type FeedJson, using } from '../../../../test/support/engine.js'
import { labels, PythonModule, withoutPython, withPython } from '../../../../test/support/python.js'

const CODE = `
import random
import numpy as np

class Vectors:
    def __getitem__(self, i): return {"vector": np.arange(4, dtype=np.float32) + i, "label": i, "name": f"no. {i} ä"}

def double(value, rng): return value * 2
def jitter(value, rng): return value + rng.standard_normal(value.shape).astype(np.float32) + random.random()
def augment(sample, rng):
    assert isinstance(sample["vector"], np.ndarray) and sample["vector"].flags.writeable
    return {"vector": sample["vector"] + rng.integers(0, 1000, 4), "label": sample["label"] + 1000}
def loud(sample, rng):
    if sample["label"] == 7: raise KeyError("seven")
    return sample
def shout(text, rng): return text.upper()
def no_dict(sample, rng): return 7
def lists(value, rng): return [value, [value, 2**60 + 1], np.ones((2, 1)), {"a": np.arange(2)}, b"[1]", (1, 2)][value]
def nothing(value, rng): pass
def brightness(sample, rng): return {"cls": sum(sample["jpg"][:2]) + sample["cls"]}
`

describe.skipIf(withoutPython)('functions in Python', () => {
  const module = withoutPython ? (undefined as never) : new PythonModule(CODE)
  const synthetic: FeedJson['source'] = {
    synthetic: { count: 32, images: { width: 8, height: 8, classes: 16 } },
  }
  const vector: FeedJson['fields'][string] = { from: 'vector', as: 'npy', dtype: 'f32', shape: [4] }
  const feed = (fields: FeedJson['fields'], rest: Partial<FeedJson> = {}): FeedJson => ({
    source: module.dataset('Vectors()', 40),
    order: { shuffle: 'global', seed: 5 },
    fields,
    batch: { size: 8, last: 'keep' },
    ...rest,
  })

  test.each([0, 2])('on a number, with %i workers', async workers => {
    const json: FeedJson = {
      source: synthetic,
      fields: { label: { from: 'cls', as: 'int', map: module.call('double') } },
      batch: 8,
    }
    expect(await labels(json, { workers })).toEqual(Array.from({ length: 32 }, (_, i) => (i % 16) * 2))
  })

  test('draw the same numbers for any workers, and others in the next epoch', async () => {
    const json = feed({
      vector: { ...vector, map: module.call('jitter') },
      name: { from: 'name', as: 'text', ragged: { max: 20 }, map: module.call('shout') },
    })
    const expected = await digests(json, { ...withPython, workers: 1 }, 2)
    expect(new Set(expected).size).toBe(expected.length)
    for (const workers of [0, 3]) expect(await digests(json, { ...withPython, workers }, 2)).toEqual(expected)
    await using(json, { ...withPython, workers: 1 }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>)
        for (const name of batch.name as string[]) expect(name).toMatch(/^NO\. \d+ Ä$/)
    })
  })

  test('over the sample of a dataset', async () => {
    const json = feed({ vector, label: { from: 'label', as: 'int' } }, { map: module.call('augment') })
    const expected = await digests(json, { ...withPython, workers: 1 }, 2)
    expect(await digests(json, { ...withPython, workers: 3 }, 2)).toEqual(expected)
    const got = await labels({ ...json, order: 'none' }, { workers: 2 })
    expect(got).toEqual(Array.from({ length: 40 }, (_, i) => 1000 + i))
  })

  test('over the sample of another source', async () => {
    const json: FeedJson = {
      source: synthetic,
      map: module.call('brightness'),
      fields: { label: { from: 'cls', as: 'int' } },
      batch: 8,
    }
    expect(await labels(json, { workers: 2 })).toEqual(
      Array.from({ length: 32 }, (_, i) => 0xff + 0xd8 + (i % 16)), // a JPEG begins with ff d8
    )
  })

  test('arrays and lists become JSON, as values of a dataset and of a function', async () => {
    const json = feed(
      {
        vector: { from: 'vector', as: 'json', ragged: { max: 200 } },
        made: { from: 'label', as: 'json', ragged: { max: 100 }, map: module.call('lists') },
      },
      { source: { subset: { source: module.dataset('Vectors()', 40), range: [0, 6] } }, order: 'none' },
    )
    await using(json, { ...withPython, workers: 1 }, async loader => {
      for await (const { vector, made } of loader as AsyncIterable<AnyBatch>) {
        expect((vector as string[])[1]).toBe('[1,2,3,4]')
        expect(made).toEqual(['0', '[1,1152921504606846977]', '[[1],[1]]', '{"a":[0,1]}', '[1]', '[1,2]'])
      }
    })
    const text = feed({
      name: { from: 'name', as: 'text', ragged: { max: 20 }, map: module.call('nothing') },
    })
    await expect(digests(text, { ...withPython, workers: 1 }, 1)).rejects.toThrow(
      /returned no value: return one/,
    )
  })

  test('errors name sample, field and stage', async () => {
    const label: FeedJson['fields'] = { label: { from: 'label', as: 'int' } }
    await expect(
      labels(feed(label, { order: 'none', map: module.call('loud') }), { workers: 2 }),
    ).rejects.toThrow(/sample 7: map failed: KeyError: 'seven'/)
    await expect(labels(feed(label, { map: module.call('no_dict') }), { workers: 1 })).rejects.toThrow(
      /map failed: TypeError: a function over the sample returns a dict, not int/,
    )
    const field = feed({ label: { ...label.label, map: module.call('shout') } }, { order: 'none' })
    await expect(labels(field, { workers: 1 })).rejects.toThrow(
      /sample 0: map of field "label" failed: AttributeError/,
    )
  })

  test('run in the interpreter of MILLRACE_PYTHON, where the opener names none', async () => {
    const map = module.call('double')
    const json: FeedJson = { source: synthetic, fields: { label: { from: 'cls', as: 'int', map } }, batch: 8 }
    const before = { ...process.env }
    try {
      process.env.PYTHONPATH = join(import.meta.dirname, '../../../../python')
      process.env.MILLRACE_PYTHON = '/nowhere/python3'
      const usual = { workers: 1, python: undefined }
      await expect(labels(json, usual)).rejects.toThrow(/can't start \/nowhere\/python3/)
      process.env.MILLRACE_PYTHON = 'python3'
      expect((await labels(json, usual)).slice(0, 3)).toEqual([0, 2, 4])
    } finally {
      process.env = before
    }
  })
})
