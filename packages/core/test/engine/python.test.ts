/** A dataset of the user's in Python: the same for any workers, and honest about errors. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type AnyBatch, digests, type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import {
  command,
  counted,
  labels,
  PythonModule,
  simple,
  withoutPython,
  withPython,
} from '../../../../test/support/python.js'

if (withoutPython) console.warn(`Python tests are skipped: ${withoutPython}`)

const CODE = `
import os, random
import numpy as np

class Numbers:
    """Everything a sample can hold, and random numbers of every generator that people use."""
    def __init__(self, count): self.count = count
    def __len__(self): return self.count
    def __getitem__(self, i):
        if i >= self.count: raise IndexError(i)
        picture = np.random.randint(0, 256, (6 + i % 5, 5 + i % 3, 3), dtype=np.uint8)
        return {"picture": picture, "label": i, "half": np.float32(i) / 2, "name": f"no. {i} ä", "drawn": random.random(),
                "vector": np.arange(4, dtype=np.float32)[::-1] + i, "raw": bytes([i % 256]) * (i % 7), "none": None}

class Pairs:
    def __len__(self): return 40
    def __getitem__(self, i): return np.full((3, 4), i, np.int64).T, i * 10

class Wide:
    def __len__(self): return 2
    def __getitem__(self, i):
        return {"id": [-2**63, 2**63 - 1][i], "ids": np.array([1, 2**63 - 1], np.uint64), "swapped": np.array([1, 2**53 + 1], ">i8"), "gaps": [0.5, None], "nothing": None}

class Bad(Numbers):
    def __getitem__(self, i):
        if i % 10 == 3: raise ValueError(f"bad luck with {i}")
        return i,

class Lines:
    def __init__(self, folder): self.folder = folder
    def __iter__(self):
        open(f"{self.folder}/{os.getpid()}", "w").close()
        for i in range(50):
            yield {"label": i, "drawn": random.random()}

class Large:
    def __getitem__(self, i): return np.full((3_000_000,), i % 251, np.uint8),

class Broken:
    def __reduce__(self): return exec, ("raise ImportError('no such library')",)
`

describe.skipIf(withoutPython)('Python', () => {
  const module = withoutPython ? (undefined as never) : new PythonModule(CODE)

  const rich = (count = 40): FeedJson => ({
    source: module.dataset(`Numbers(${count})`, count),
    order: { shuffle: 'global', seed: 5 },
    fields: {
      picture: { from: 'picture', as: 'image', apply: [{ randomResizedCrop: { size: 4 } }], dtype: 'f32' },
      label: { from: 'label', as: 'int' },
      half: { from: 'half', as: 'float' },
      name: { from: 'name', as: 'text', ragged: { max: 20 } },
      drawn: { from: 'drawn', as: 'float', dtype: 'f64' },
      vector: { from: 'vector', as: 'npy', dtype: 'f32', shape: [4] },
      raw: { from: 'raw', as: 'bytes', ragged: { max: 8 } },
    },
    batch: { size: 8, last: 'keep' },
  })

  test('integers of 64 bits keep all of their bits, gaps are NaN, and None is absence', async () => {
    const ids = { as: 'npy' as const, dtype: 'i64' as const, shape: [2] }
    const definition: FeedJson = {
      source: module.dataset('Wide()', 2),
      fields: {
        id: { from: 'id', as: 'int' },
        all: { from: 'ids', ...ids },
        swapped: { from: 'swapped', ...ids },
        gaps: { from: 'gaps', as: 'npy', dtype: 'f32', shape: [2] },
        none: { from: 'nothing', as: 'int', missing: -1 },
      },
      batch: 2,
    }
    await using(definition, withPython, async loader => {
      for await (const batch of loader) {
        expect(batch.id).toEqual(BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n))
        expect(batch.all).toEqual(BigInt64Array.of(1n, 2n ** 63n - 1n, 1n, 2n ** 63n - 1n))
        expect(batch.swapped).toEqual(BigInt64Array.of(1n, 2n ** 53n + 1n, 1n, 2n ** 53n + 1n))
        expect(batch.gaps).toEqual(Float32Array.of(0.5, NaN, 0.5, NaN))
        expect(batch.none).toEqual(BigInt64Array.of(-1n, -1n))
        return
      }
    })
  })

  test('the same bytes for any workers, over two epochs', async () => {
    const expected = await digests(rich(), { ...withPython, workers: 1 }, 2)
    expect(expected).toHaveLength(10)
    for (const workers of [2, 5])
      expect(await digests(rich(), { ...withPython, workers }, 2)).toEqual(expected)
  })

  test('what a sample holds arrives', async () => {
    await using({ ...rich(), order: 'none' }, { ...withPython, workers: 2 }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>) {
        const first = Number((batch.label as BigInt64Array)[0])
        expect(batch.name).toEqual(Array.from({ length: batch.count }, (_, i) => `no. ${first + i} ä`))
        expect([...(batch.vector as Float32Array).slice(0, 4)]).toEqual([3, 2, 1, 0].map(n => n + first))
        expect((batch.half as Float32Array)[0]).toBe(first / 2)
      }
    })
  })

  test('tuples become columns by position, arrays of any strides lie in C order', async () => {
    const json: FeedJson = {
      source: module.dataset('Pairs()', 40),
      fields: { x: { from: '0', as: 'npy', shape: [4, 3], dtype: 'i64' }, label: { from: '1', as: 'int' } },
      batch: 8,
    }
    expect(await labels(json, { workers: 2 })).toEqual(Array.from({ length: 40 }, (_, i) => i * 10))
    expect((await labels(json, { workers: 2 }, 'x')).slice(12 * 39)).toEqual(Array(12).fill(39))
  })

  test('random choices differ between epochs, and resuming changes nothing', async () => {
    const whole = await digests(rich(), { ...withPython, workers: 2 }, 2)
    expect(new Set(whole).size).toBe(whole.length)
    const json = rich()
    const state = await using(json, { ...withPython, workers: 3 }, async loader => {
      let batches = 0
      for await (const _ of loader) if (++batches === 2) return loader.state()
    })
    const rest = await digests(json, { ...withPython, workers: 1, state }, 1)
    expect(rest).toEqual(whole.slice(2, 5))
  })

  test('samples larger than the shared memory come another way', async () => {
    const json: FeedJson = {
      source: module.dataset('Large()', 8),
      fields: { x: { from: '0', as: 'npy', shape: [3_000_000], dtype: 'u8' } },
      batch: 4,
    }
    await using(json, { ...withPython, workers: 2, depth: 2 }, async loader => {
      for await (const batch of loader as AsyncIterable<AnyBatch>) {
        const x = batch.x as Uint8Array
        for (let row = 0; row < 4; row++) {
          const mine = x.subarray(row * 3_000_000, (row + 1) * 3_000_000)
          expect(Buffer.compare(mine, Buffer.alloc(3_000_000, batch.positions[row] % 251))).toBe(0)
        }
      }
    })
  })

  test('subsets, concatenations and zips of datasets', async () => {
    const numbers = module.dataset('Numbers(20)', 20)
    const pairs = module.dataset('Pairs()', 40)
    const fields: FeedJson['fields'] = {
      label: { from: 'label', as: 'int' },
      ten: { from: '1', as: 'int' },
    }
    const zipped: FeedJson = {
      source: { zip: [{ concat: [numbers, numbers] }, pairs] },
      order: { shuffle: 'global', seed: 1 },
      fields,
      batch: 8,
    }
    const [a, b] = [await labels(zipped, { workers: 2 }), await labels(zipped, { workers: 2 }, 'ten')]
    expect(a).toEqual(b.map(ten => (ten / 10) % 20))
    const some = simple({ subset: { source: pairs, indices: [5, 3, 39] } }, { fields: { label: fields.ten } })
    expect(await labels(some, { workers: 1 })).toEqual([50, 30, 390])
  })

  describe('errors', () => {
    const bad = () => module.dataset('Bad(40)', 40)

    test('name the sample, the exception and the line', async () => {
      for (const workers of [0, 2]) {
        await expect(labels(simple(bad()), { workers })).rejects.toThrow(
          /sample 3: read failed: ValueError: bad luck with 3\n.*user_module.*in __getitem__/s,
        )
      }
    })

    test('follow the policy', async () => {
      const good = counted(40).filter(i => i % 10 !== 3)
      for (const workers of [1, 3]) {
        expect(await labels(simple(bad(), { onError: 'drop' }), { workers })).toEqual(good)
      }
    })

    test('a column that is not there', async () => {
      const json = simple(bad(), { fields: { label: { from: 'cls', as: 'int' } } })
      await expect(labels(json, { workers: 1 })).rejects.toThrow(/no column "cls"/)
    })

    test('a dataset that cannot be loaded', async () => {
      await expect(labels(simple(module.dataset('Broken()', 4)), { workers: 2 })).rejects.toThrow(
        /can't load it: ImportError: no such library/,
      )
    })

    test('an interpreter that is not there', async () => {
      const source = bad()
      const python = ['/nowhere/python3', command[1]]
      await expect(labels(simple(source), { workers: 1, python })).rejects.toThrow(
        /can't start \/nowhere\/python3: ENOENT/,
      )
    })

    test('a program that only dies', async () => {
      await expect(labels(simple(bad()), { workers: 1, python: ['false'] })).rejects.toThrow(
        /does not stay alive/,
      )
    })
  })

  describe('iterables', () => {
    const lines = (folder: string, count = 50): FeedJson => ({
      source: module.dataset(`Lines(${JSON.stringify(folder)})`, count, { iterable: true }),
      fields: { label: { from: 'label', as: 'int' }, drawn: { from: 'drawn', as: 'float', dtype: 'f64' } },
      batch: { size: 8, last: 'keep' },
    })

    test('keep their own order, in one process, whatever the workers', async () => {
      const folder = temporaryFolder()
      const expected = await digests(lines(folder), { ...withPython, workers: 0 }, 2)
      expect(await labels(lines(folder), { workers: 1 })).toEqual(counted(50))
      const many = temporaryFolder()
      expect(await digests(lines(many), { ...withPython, workers: 4 }, 2)).toEqual(expected)
      expect(readdirSync(many)).toHaveLength(1)
    })

    test('resume by going through them again, on other ranks as well', async () => {
      const json = lines(temporaryFolder())
      const whole = await labels(json, { workers: 1 })
      const state = await using(json, { ...withPython, workers: 2 }, async loader => {
        await loader.ready
        return { ...loader.state(), position: 16 }
      })
      expect(await labels(json, { workers: 2, state })).toEqual(whole.slice(16))
      const ranks = [0, 1].map(rank => labels(json, { workers: 2, state, rank, world: 2 }))
      expect((await Promise.all(ranks)).flat().sort((a, b) => a - b)).toEqual(whole.slice(16))
    })

    test('have no other order, and as many samples as they said', async () => {
      const json = lines(temporaryFolder(), 60)
      await expect(labels({ ...json, order: { shuffle: 'global', seed: 1 } })).rejects.toThrow(
        /order: ".*" is an iterable/,
      )
      await expect(labels(json, { workers: 1 })).rejects.toThrow(/sample 50: .*ended after 50 samples/s)
    })
  })
})
