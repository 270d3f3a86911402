import { describe, expect, it } from 'vitest'
import { Random } from '../../../basics/random.js'
import { Ahead, type Reach } from '../../../engine/fetch/ahead.js'

const ROW = 30_000

/** Claims of one chunk. */
function reach(makers: number): Reach {
  return { stride: 1, makers, ahead: 32 }
}

/** Makers that take claims in turns, over a disk of which only the times are there. */
class Disk {
  /** µs that a read of a row takes, not hinted and hinted. */
  us = { cold: 100, hinted: 8 }
  private time = 0
  private bytes = 0
  private claim = 0
  private readonly hinted = new Map<number, number>()
  readonly makers: Ahead[]
  /** How often each claim was hinted. */
  readonly hints: number[] = []

  constructor(
    makers: number,
    private readonly rows = 4,
  ) {
    const layout = { chunks: 16, chunkRows: rows, rows: 16 * rows }
    this.makers = Array.from({ length: makers }, () => new Ahead(layout, () => this.time / 1000))
  }

  /** The makers take so many claims. Returns how many of them were hinted. */
  take(claims: number): number {
    const until = this.claim + claims
    const begun = this.claim
    for (; this.claim < until; this.claim++) {
      const maker = this.makers[(this.claim * 7) % this.makers.length]
      if (maker.slow) {
        const later = maker.later(this.claim, reach(this.makers.length)).number
        this.hints[later] = (this.hints[later] ?? 0) + 1
        this.hinted.set(later, maker.timed(later) ? 1 : 0)
      }
      const from = this.hinted.get(this.claim) ?? Number.POSITIVE_INFINITY
      maker.begin(this.claim)
      for (let read = 0; read < this.rows; read++) {
        maker.mark(this.bytes)
        this.time += read < from ? this.us.cold : this.us.hinted
        this.bytes += ROW
      }
      maker.mark(this.bytes)
    }
    return this.hints.slice(begun, until).filter(n => n > 0).length
  }
}

describe('while reads are slow', () => {
  it.each([1, 2, 5, 16])('each claim is hinted once, with %i makers', makers => {
    const disk = new Disk(makers)
    disk.take(400 * makers)
    expect(disk.take(1000)).toBe(1000)
    expect(disk.hints.every(n => n === 1)).toBe(true)
  })

  it('hints go on although hinted reads are fast', () => {
    const disk = new Disk(2)
    disk.take(20_000)
    expect(disk.take(1000)).toBe(1000)
  })

  it('a maker begins soon', () => {
    const disk = new Disk(1)
    disk.take(160)
    expect(disk.makers[0].slow).toBe(true)
  })

  it('a claim is hinted so early that 32 rows lie between, beside those of other makers', () => {
    const ahead = (makers: number, chunkRows: number, chunks = 16) =>
      new Ahead({ chunks, chunkRows, rows: chunks * chunkRows }).later(0, reach(makers)).number
    expect([1, 2, 16].map(makers => ahead(makers, 4))).toEqual([8, 9, 23])
    expect(ahead(4, 32)).toBe(4)
    expect(ahead(1, 1000, 1)).toBe(1)
  })

  it('claims of several chunks are hinted where they will begin: batches begin with a claim of their own', () => {
    const ahead = new Ahead({ chunks: 10, chunkRows: 2, rows: 20 })
    // Claims of 4 chunks: 0, 4 and 8 of each batch; 8 rows each, so that 4 lie between.
    const claims = Array.from({ length: 30 }, (_, i) => Math.floor(i / 3) * 10 + (i % 3) * 4)
    for (let i = 0; i < 26; i++)
      expect(ahead.later(claims[i], { stride: 4, makers: 1, ahead: 32 })).toEqual({
        number: claims[i + 4],
        count: 4,
      })
  })

  it('claims ahead are given some bytes together, however many makers there are', () => {
    for (const makers of [1, 4, 64]) {
      const ahead = new Ahead({ chunks: 16, chunkRows: 16, rows: 256 })
      const claims = ahead.later(0, reach(makers)).number
      expect(ahead.bytes * claims).toBeLessThanOrEqual(256 << 20)
      expect(ahead.bytes * (claims + 1)).toBeGreaterThan(200 << 20)
    }
  })
})

describe('while reads are fast', () => {
  it('slow reads at the very beginning don’t count: nothing is compiled yet', () => {
    const disk = new Disk(2)
    disk.take(100)
    disk.us.cold = 8
    expect(disk.take(1000)).toBe(0)
  })

  it('nothing is hinted', () => {
    const disk = new Disk(2)
    disk.us.cold = 8
    expect(disk.take(10_000)).toBe(0)
  })

  it('a slow read now and then changes nothing', () => {
    const disk = new Disk(2)
    for (let i = 0; i < 100; i++) {
      disk.us.cold = 8
      disk.take(99)
      disk.us.cold = 5000
      disk.take(1)
    }
    expect(disk.hints).toEqual([])
  })

  it('hints end once the page cache has the data, and begin again when it has not', () => {
    const disk = new Disk(2)
    disk.take(1000)
    disk.us.cold = 8
    disk.take(2000)
    expect(disk.take(1000)).toBe(0)
    disk.us.cold = 100
    disk.take(1000)
    expect(disk.take(1000)).toBe(1000)
  })

  it('half of the data in the page cache is not enough', () => {
    const disk = new Disk(1)
    const random = new Random().key(1, 2, 3, 4)
    for (let i = 0; i < 5000; i++) {
      disk.us.cold = random.next() < 0.5 ? 8 : 100
      disk.take(1)
    }
    expect(disk.take(100)).toBe(100)
  })

  it('large reads may take longer', () => {
    const one = (us: number, bytes: number): boolean => {
      let time = 0
      const ahead = new Ahead({ chunks: 16, chunkRows: 4, rows: 64 }, () => time / 1000)
      for (let claim = 0; claim < 200; claim++) {
        ahead.begin(claim)
        ahead.mark(0)
        time += us
        ahead.mark(bytes)
      }
      return ahead.slow
    }
    expect(one(2000, 8 << 20)).toBe(false)
    expect(one(20_000, 8 << 20)).toBe(true)
    expect(one(10, 4096)).toBe(false)
    expect(one(60, 4096)).toBe(true)
  })
})
