import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangedError, SourceError } from '../../basics/errors.js'
import { Reader } from '../../store/reader.js'
import type { ByteRange, MergeLimits, ReadHow, Stat, Store } from '../../store/store.js'

const objects = Object.fromEntries(
  ['x', 'y'].map((name, f) => [
    name,
    Uint8Array.from({ length: 5000 }, (_, i) => (i * 13 + f * 101 + (i >> 7)) & 255),
  ]),
)

/** Objects in memory; it counts what it is really asked for. */
class MemoryStore implements Store {
  reads = 0
  readonly merge: MergeLimits

  constructor(
    protected readonly objects: Record<string, Uint8Array>,
    limits: Partial<MergeLimits> = {},
  ) {
    this.merge = { gap: 64 << 10, most: 8 << 20, ...limits }
  }

  async stat(name: string): Promise<Stat> {
    return this.statNow(name)
  }

  statNow(name: string): Stat {
    return { bytes: this.objects[name].length, version: '1' }
  }

  async read(name: string, offset: number, into: Uint8Array): Promise<void> {
    this.readNow(name, offset, into)
  }

  readNow(name: string, offset: number, into: Uint8Array): boolean {
    this.reads++
    into.set(this.objects[name].subarray(offset, offset + into.length))
    return true
  }

  close(): void {}
}

/** The same, far away: answers wait until the test lets them come, in the order that it likes. */
class FarStore implements Store {
  readonly merge: MergeLimits = { gap: 10, most: 1000 }
  readonly asked: {
    name: string
    offset: number
    into: Uint8Array
    how: ReadHow
    answer(e?: Error): void
  }[] = []
  stats = 0

  async stat(name: string): Promise<Stat> {
    this.stats++
    if (!(name in objects)) throw Object.assign(new Error('no such object'), { code: 'ENOENT' })
    return { bytes: objects[name].length, version: 'v1' }
  }

  read(name: string, offset: number, into: Uint8Array, how: ReadHow): Promise<void> {
    return new Promise((resolve, reject) => {
      const answer = (error?: Error): void => {
        into.set(objects[name].subarray(offset, offset + into.length))
        if (error === undefined) resolve()
        else reject(error)
      }
      this.asked.push({ name, offset, into, how, answer })
    })
  }

  close(): void {}
}

/** A reader over one store, and one that must have everything at once. */
const over = (store: Store): Reader => new Reader({ of: () => store })
const readerOf = (store: Store) => {
  const reader = over(store)
  return {
    counts: reader.counts,
    read(ranges: readonly ByteRange[]): Uint8Array[] {
      const views = reader.read(ranges)
      if (!Array.isArray(views)) throw new Error('a promise, where all is at hand')
      return views
    },
  }
}
const generation = () => new Promise(setImmediate)

describe('Reader', () => {
  it('returns the bytes of every range, in input order, whatever the limits', () => {
    const ranges = fc.array(
      fc.record({ file: fc.constantFrom('x', 'y'), offset: fc.nat(4000), length: fc.nat(1000) }),
      { maxLength: 30 },
    )
    fc.assert(
      fc.property(
        fc.array(ranges, { maxLength: 4 }),
        fc.nat(300),
        fc.integer({ min: 1, max: 3000 }),
        (claims, gap, most) => {
          const reader = readerOf(new MemoryStore(objects, { gap, most }))
          for (const claim of claims) {
            const views = reader.read(claim)
            claim.forEach(({ file, offset, length }, i) => {
              expect(Buffer.compare(views[i], objects[file].subarray(offset, offset + length))).toBe(0)
            })
          }
          const used = claims.flat().reduce((sum, r) => sum + r.length, 0)
          expect(reader.counts.bytesUsed).toBe(used)
        },
      ),
    )
  })

  it('counts reads and bytes, and reads neighbours together', () => {
    const store = new MemoryStore(objects, { gap: 10, most: 1000 })
    const reader = readerOf(store)
    reader.read([
      { file: 'x', offset: 110, length: 100 },
      { file: 'x', offset: 0, length: 100 },
      { file: 'y', offset: 0, length: 5 },
    ])
    expect(store.reads).toBe(2)
    expect(reader.counts).toEqual({ reads: 2, bytesRead: 215, bytesUsed: 205 })
  })

  it('uses one buffer again and again; each read begins on a cache line', () => {
    const reader = readerOf(new MemoryStore(objects, { gap: 0 }))
    const far = [
      { file: 'x', offset: 3, length: 100 },
      { file: 'x', offset: 1000, length: 50 },
    ]
    const first = reader.read(far)
    const second = reader.read(far)
    expect(second[0].buffer).toBe(first[0].buffer)
    expect(second.map(view => view.byteOffset % 64)).toEqual([0, 0])
    const third = reader.read([{ file: 'x', offset: 0, length: 200 }])
    expect([second, third].map(([view]) => view.buffer.byteLength)).toEqual([192, 384])
  })

  it('takes no memory for bytes that a torn index invents', () => {
    const store = new MemoryStore(objects)
    const reader = readerOf(store)
    const torn = [{ file: 'x', offset: 4000, length: 2 ** 50 }]
    expect(() => reader.read(torn)).toThrow(/x: wanted 1125899906842624 bytes at offset 4000, got 1000/)
    expect(store.reads).toBe(0)
    const [view] = reader.read([{ file: 'x', offset: 0, length: 4 }])
    expect(view.buffer.byteLength).toBe(64)
  })
  it('tells the store of the reads that ranges will take: from one of them on, and so many bytes', () => {
    const store = new MemoryStore(objects, { gap: 10 })
    const hints: [string, number, number][] = []
    const hinting = Object.assign(store, {
      hint: ({ file, offset, length }: ByteRange) => hints.push([file, offset, length]),
    })
    const reader = new Reader({ of: () => hinting })
    const ranges = [
      { file: 'y', offset: 1000, length: 100 },
      { file: 'x', offset: 105, length: 50 },
      { file: 'x', offset: 0, length: 100 },
      { file: 'y', offset: 7, length: 0 },
    ]
    reader.hint(ranges)
    expect(hints.splice(0)).toEqual([
      ['x', 0, 155],
      ['y', 1000, 100],
    ])
    reader.hint(ranges, 1)
    expect(hints.splice(0)).toEqual([['y', 1000, 100]])
    reader.hint(ranges, 0, 200)
    expect(hints.splice(0)).toEqual([
      ['x', 0, 155],
      ['y', 1000, 45],
    ])
    expect([store.reads, reader.counts.reads]).toEqual([0, 0])
    new Reader({ of: () => new MemoryStore(objects) }).hint(ranges) // a store need not take hints
  })

  it('reads a range into memory of the caller', () => {
    const reader = over(new MemoryStore(objects))
    const into = new Uint8Array(7)
    expect(reader.readInto({ file: 'y', offset: 100, length: 5 }, into)).toBeUndefined()
    expect([...into]).toEqual([...objects.y.subarray(100, 105), 0, 0])
    expect(reader.counts).toEqual({ reads: 1, bytesRead: 5, bytesUsed: 5 })
  })
})

describe('Reader over a store that is far away', () => {
  const far = [
    { file: 'x', offset: 0, length: 50 },
    { file: 'y', offset: 7, length: 30, was: 'v1' },
    { file: 'x', offset: 2000, length: 40 },
  ]
  const wanted = far.map(({ file, offset, length }) => [...objects[file].subarray(offset, offset + length)])

  it('has all reads of a claim in flight together, and takes the answers in any order', async () => {
    const store = new FarStore()
    const blamed: number[] = []
    const views = over(store).read(far, range => blamed.push(range))
    await generation()
    expect(store.asked.map(({ name, offset, how }) => [name, offset, how.was])).toEqual([
      ['x', 0, undefined],
      ['x', 2000, undefined],
      ['y', 7, 'v1'],
    ])
    for (const { answer } of [store.asked[1], store.asked[0]]) {
      answer()
      await generation()
    }
    // The range that is still awaited is the one to blame.
    expect(blamed).toEqual([0, 2, 1, 0, 1])
    store.asked[2].answer()
    expect((await views).map(view => [...view])).toEqual(wanted)
  })

  it('settles when no read writes to its buffer any more, also after an error', async () => {
    const store = new FarStore()
    const reader = over(store)
    let settled = false
    const views = Promise.resolve(reader.read(far)).catch(error => {
      settled = true
      return error as Error
    })
    await generation()
    store.asked[0].answer(new Error('503 slow down'))
    await generation()
    expect(settled).toBe(false)
    for (const { answer } of store.asked.slice(1)) answer()
    expect(await views).toMatchObject({
      message: "x: can't read 50 bytes at offset 0: 503 slow down",
      file: 'x',
      offset: 0,
    })
  })

  it('gives another claim another buffer while reads are in flight, and the same one afterwards', async () => {
    const store = new FarStore()
    const reader = over(store)
    const first = reader.read(far)
    await generation()
    const second = reader.read([{ file: 'y', offset: 500, length: 64 }])
    await generation()
    for (const { answer } of store.asked) answer()
    expect((await second).map(view => [...view])).toEqual([[...objects.y.subarray(500, 564)]])
    const views = await first
    expect(views.map(view => [...view])).toEqual(wanted)
    expect((await second)[0].buffer).not.toBe(views[0].buffer)
    const third = reader.read(far)
    for (const { answer } of store.asked.slice(4)) answer()
    expect((await third)[0].buffer).toBe(views[0].buffer)
  })

  it('waits for what is far before it tells that something near is missing', async () => {
    const [near, distant] = [new MemoryStore({}), new FarStore()]
    near.readNow = () => {
      throw new SourceError('y is gone', { file: 'y' })
    }
    near.statNow = () => ({ bytes: 5000, version: '1' })
    const reader = new Reader({ of: name => (name === 'x' ? distant : near) })
    const views = Promise.resolve(reader.read(far.map(range => ({ ...range, was: undefined }))))
    let reported: unknown
    void views.catch(error => {
      reported = error
    })
    await generation()
    expect(reported).toBeUndefined()
    for (const { answer } of distant.asked) answer()
    await expect(views).rejects.toThrow('y is gone')
  })

  it.each([
    ['ESTALE', 'its ETag is v2 now', /^y changed during the run: its ETag is v2 now\..*start again/],
    ['ENOENT', 'no such key', /^y changed during the run: it is gone\./],
  ])('takes %s of an indexed object for a change', async (code, message, reported) => {
    const store = new FarStore()
    const views = over(store).read([{ file: 'y', offset: 0, length: 9, was: 'v1' }])
    await generation()
    store.asked[0].answer(Object.assign(new Error(message), { code }))
    await expect(views).rejects.toThrow(ChangedError)
    await expect(views).rejects.toThrow(reported)
  })

  it('looks at sizes and versions before it takes much memory, and whether an empty object grew', async () => {
    const store = new FarStore()
    const reader = over(store)
    const torn = reader.read([{ file: 'x', offset: 4000, length: 2 ** 50 }])
    await expect(torn).rejects.toThrow(/x: wanted 1125899906842624 bytes at offset 4000, got 1000/)
    const old = reader.read([{ file: 'x', offset: 0, length: 4, was: 'v0' }])
    await expect(old).rejects.toThrow(ChangedError)
    expect(store.asked).toEqual([])
    const empty = reader.read([{ file: 'x', offset: 0, length: 0, was: 'v1' }])
    await generation()
    expect(store.asked.map(({ into, how }) => [into.length, how.was])).toEqual([[0, 'v1']])
    store.asked[0].answer()
    expect((await empty).map(view => view.length)).toEqual([0])
  })
})
