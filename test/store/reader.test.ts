import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Reader } from '../../src/store/reader.js'
import type { Store } from '../../src/store/store.js'

const objects = Object.fromEntries(
  ['x', 'y'].map((name, f) => [
    name,
    Uint8Array.from({ length: 5000 }, (_, i) => (i * 13 + f * 101 + (i >> 7)) & 255),
  ]),
)

/** Objects in memory; it counts what it is really asked for. */
class MemoryStore implements Store {
  reads = 0

  constructor(private readonly objects: Record<string, Uint8Array>) {}

  sizeSync(name: string): number {
    return this.objects[name].length
  }

  readSync(name: string, offset: number, into: Uint8Array): void {
    this.reads++
    into.set(this.objects[name].subarray(offset, offset + into.length))
  }

  close(): void {}
}

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
          const reader = new Reader(new MemoryStore(objects), { gap, most })
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
    const store = new MemoryStore(objects)
    const reader = new Reader(store, { gap: 10, most: 1000 })
    reader.read([
      { file: 'x', offset: 110, length: 100 },
      { file: 'x', offset: 0, length: 100 },
      { file: 'y', offset: 0, length: 5 },
    ])
    expect(store.reads).toBe(2)
    expect(reader.counts).toEqual({ reads: 2, bytesRead: 215, bytesUsed: 205 })
  })

  it('uses one buffer again and again; each read begins on a cache line', () => {
    const reader = new Reader(new MemoryStore(objects), { gap: 0 })
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
    const reader = new Reader(store)
    const torn = [{ file: 'x', offset: 4000, length: 2 ** 50 }]
    expect(() => reader.read(torn)).toThrow(/x: wanted 1125899906842624 bytes at offset 4000, got 1000/)
    expect(store.reads).toBe(0)
    const [view] = reader.read([{ file: 'x', offset: 0, length: 4 }])
    expect(view.buffer.byteLength).toBe(64)
  })
})
