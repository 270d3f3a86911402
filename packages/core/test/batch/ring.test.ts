/** The ring: claims in order, back-pressure by depth, slots back in any order, and nothing lost when makers die. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { At, MAX_REDO, Word } from '../../batch/control-words.js'
import { layoutSlot, type SlotLayout } from '../../batch/layout.js'
import { type Claim, CONTROL_BYTES, Ring } from '../../batch/ring.js'
import { Header, type Slot } from '../../batch/slot.js'

/** Byte offset of what each maker holds (docs/protocol.md). */
const CLAIMS_AT = 2048

/** Rows of 8 KiB: several claims a batch. */
const FIELD = { name: 'vector', dtype: 'i64', form: 'dense' } as const

/** With claims of one chunk. */
function makeRing(rows: number, capacity: number, depth = capacity, limit = Infinity): Ring {
  const layout: SlotLayout = { ...layoutSlot([{ ...FIELD, shape: [1024] }], rows), stride: 1 }
  const bytes = CONTROL_BYTES + capacity * layout.bytes
  const memory = new WebAssembly.Memory({ initial: bytes / 65536, maximum: bytes / 65536, shared: true })
  const ring = new Ring(memory, layout, capacity)
  ring.reset({ epoch: 0, position: 0, limit }, depth)
  return ring
}

/** The slot of a claim's batch. */
function open(ring: Ring, maker: number, claim: Claim): Slot {
  return ring.slotOf(claim, maker, opened => {
    opened.words[Header.Planned] = ring.layout.rows
  })!
}

/** What a maker does with a claim, without making anything. */
function finish(ring: Ring, maker: number, claim: Claim): Slot {
  const slot = open(ring, maker, claim)
  if (ring.finish(claim, slot)) ring.publish(slot)
  ring.drop(maker)
  return slot
}

/** Makes claims until there are none to take. */
function work(ring: Ring, maker = 0): number {
  let made = 0
  for (let claim = ring.next(maker); claim; claim = ring.next(maker)) {
    finish(ring, maker, claim)
    made++
  }
  return made
}

describe('ring', () => {
  test('claims cover every row of every batch once, in order', () => {
    const ring = makeRing(100, 2)
    const seen: string[] = []
    for (let claim = ring.next(0); claim; claim = ring.next(0)) {
      for (let row = claim.from; row < claim.to; row++) seen.push(`${claim.batch}/${row}`)
      finish(ring, 0, claim)
    }
    expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => `${Math.floor(i / 100)}/${i % 100}`))
  })

  test('the oldest batch with rows to be made counts what is held, and what waits to be made again', () => {
    const ring = makeRing(100, 4)
    expect(ring.oldest).toBe(0)
    const first = ring.next(3)!
    expect(first.batch).toBe(0)
    for (let claim = ring.next(0); claim && claim.batch < 2; claim = ring.next(0)) finish(ring, 0, claim)
    expect(ring.oldest).toBe(0)
    ring.giveBack(3)
    expect(ring.oldest).toBe(0)
    finish(ring, 3, ring.next(3)!)
    expect(ring.oldest).toBe(2)
    // One that is about to take a claim, and sleeps meanwhile, holds up nothing that was given back.
    new BigInt64Array(ring.memory.buffer, CLAIMS_AT)[5] = -1n
    expect(ring.oldest).toBe(0)
    ring.release(ring.ready(0)!)
    expect(ring.oldest).toBe(1)
  })

  test('no more batches are open than the depth allows, and a released slot makes room for one', () => {
    const ring = makeRing(16, 8, 3)
    work(ring)
    expect([0, 1, 2, 3].map(batch => ring.ready(batch) !== undefined)).toEqual([true, true, true, false])
    ring.release(ring.ready(1)!)
    work(ring)
    expect(ring.ready(3)).toBe(1)
    expect(ring.ready(4)).toBeUndefined()
  })

  test('only the first `depth` slots are ever used', () => {
    const ring = makeRing(4, 8, 2)
    const used = new Set<number>()
    for (let batch = 0; batch < 50; batch++) {
      work(ring)
      const slot = ring.ready(batch)!
      used.add(slot)
      ring.release(slot)
    }
    expect([...used].sort()).toEqual([0, 1])
  })

  test('the depth can be raised and lowered while running', () => {
    const ring = makeRing(4, 8, 1)
    expect(work(ring)).toBe(ring.layout.chunks)
    ring.depth = 4
    expect(work(ring)).toBe(3 * ring.layout.chunks)
    ring.depth = 2
    ring.release(ring.ready(0)!)
    ring.release(ring.ready(1)!)
    expect(work(ring)).toBe(0)
    ring.release(ring.ready(2)!)
    expect(work(ring)).toBe(ring.layout.chunks)
  })

  test('a limit ends the handing out', () => {
    const ring = makeRing(4, 8, 8, 3)
    work(ring)
    expect(ring.ready(2)).toBeDefined()
    expect(ring.ready(3)).toBeUndefined()
  })

  test('a paused ring hands out nothing; reset starts over without the kept slots', () => {
    const ring = makeRing(4, 3)
    work(ring)
    const kept = ring.ready(1)!
    ring.pause()
    ring.reset({ epoch: 1, position: 8, limit: Infinity }, 3, new Set([kept]))
    expect(ring.startAt).toEqual({ epoch: 1, position: 8, limit: Infinity })
    expect(ring.ready(1)).toBeUndefined()
    work(ring)
    expect([0, 1, 2].map(batch => ring.ready(batch))).not.toContain(kept)
    expect(ring.ready(2)).toBeUndefined()
    ring.release(kept)
    work(ring)
    expect(ring.ready(2)).toBe(kept)
  })

  test('what a dead maker held is made by another', () => {
    const ring = makeRing(64, 2)
    const lost = ring.next(7)!
    expect(ring.held(7)?.claim).toEqual(lost)
    for (let claim = ring.next(0); claim && claim.batch === 0; claim = ring.next(0)) {
      if (claim.number > 3) {
        ring.drop(0)
        break
      }
    }
    expect(ring.abandon(7)).toEqual(lost)
    expect(ring.next(1)).toEqual(lost)
    expect(ring.abandon(7)).toBeUndefined()
  })

  test('a claim that was finished before its maker died is not made again', () => {
    const ring = makeRing(64, 2)
    const claim = ring.next(3)!
    const slot = ring.slotOf(claim, 0, opened => {
      opened.words[Header.Planned] = 64
    })!
    ring.finish(claim, slot)
    expect(ring.abandon(3)).toBeUndefined()
  })

  test('a slot is not lost with a maker that died while it opened a batch', () => {
    const ring = makeRing(8, 2)
    const dies = (): never => {
      throw new Error('dead')
    }
    for (let death = 0; death < 5; death++) {
      const claim = ring.next(4)!
      expect(() => ring.slotOf(claim, 4, dies)).toThrow('dead')
      expect(ring.abandon(4)).toEqual(claim)
    }
    work(ring)
    expect(new Set([0, 1].map(batch => ring.ready(batch)))).toEqual(new Set([0, 1]))
  })

  test('a batch that was open when its maker died stays where it is', () => {
    const ring = makeRing(8, 2)
    const claim = ring.next(4)!
    const slot = ring.slotOf(claim, 4, () => {})
    ring.words[Word.Opening + claim.batch] = 4 + 1 // it had still to take that back
    expect(ring.abandon(4)).toEqual(claim)
    const again = ring.next(0)!
    expect(again).toEqual(claim)
    expect(ring.slotOf(again, 0, () => expect.unreachable())).toBe(slot)
    finish(ring, 0, again)
    work(ring)
    expect(new Set([0, 1].map(batch => ring.ready(batch)))).toEqual(new Set([0, 1]))
  })

  test('a batch whose closing was interrupted is made again as a whole', () => {
    const ring = makeRing(8, 1)
    let last!: Claim
    for (let claim = ring.next(0); claim; claim = ring.next(0)) {
      const slot = ring.slotOf(claim, 0, opened => {
        opened.words[Header.Planned] = 8
      })!
      last = claim
      if (ring.finish(claim, slot)) break // dies here, before publish
      ring.drop(0)
    }
    expect(ring.abandon(0)).toEqual(last)
    expect(work(ring, 1)).toBe(ring.layout.chunks)
    expect(ring.slots[ring.ready(0)!].words[Header.Planned]).toBe(8)
  })

  test('the same where nobody had said yet that it closes: unless another may be about to', () => {
    const ring = makeRing(64, 1)
    const claims = Array.from({ length: ring.layout.chunks }, (_, maker) => ring.next(maker)!)
    const last = claims.length - 1
    let slot!: Slot
    for (const [maker, claim] of claims.entries()) {
      slot = open(ring, maker, claim)
      ring.finish(claim, slot)
      if (maker > 0 && maker < last) ring.drop(maker)
    }
    slot.words[Header.Closer] = 0 // dead before it could note that
    expect(ring.abandon(0)).toBeUndefined() // the last one has its claim still
    expect(ring.abandon(last)).toEqual(claims[last])
    expect(work(ring, 1)).toBe(ring.layout.chunks)
    expect(ring.ready(0)).toBeDefined()
  })

  test('a paused ring hands out nothing that waits to be made again, either', () => {
    const ring = makeRing(64, 2)
    ring.next(3)
    ring.giveBack(3)
    ring.pause()
    expect(ring.next(4)).toBeUndefined()
    expect(ring.busy).toBe(false)
  })

  test('a maker that died before it had a slot for a batch does not free the one of another', () => {
    const ring = makeRing(8, 2)
    const claims = ring.layout.chunks
    for (let i = 0; i < claims; i++) finish(ring, 0, ring.next(0)!)
    const lent = ring.ready(0)!
    const claim = ring.next(4)!
    ring.words[Word.Opening + claim.batch] = 4 + 1 // it had just begun to open it
    expect(ring.abandon(4)).toEqual(claim)
    work(ring)
    expect(ring.ready(0)).toBe(lent)
    expect(ring.ready(1)).not.toBe(lent)
  })

  test('a batch that another maker is closing is left to that one', () => {
    const ring = makeRing(64, 1)
    const [first, ...others] = Array.from({ length: ring.layout.chunks }, (_, maker) => ring.next(maker)!)
    const slot = open(ring, 0, first)
    expect(ring.finish(first, slot)).toBe(false) // and dies before it drops the claim
    for (const [i, claim] of others.entries()) {
      expect(ring.finish(claim, slot)).toBe(i === others.length - 1)
    }
    expect(ring.abandon(0)).toBeUndefined()
    expect(slot.words[Header.Planned]).toBe(64)
    expect(ring.words[Word.Redo]).toBe(0)
  })

  test('a batch that was delivered while its last maker died is not made again', () => {
    const ring = makeRing(64, 1)
    let last!: Claim
    for (let claim = ring.next(0); claim; claim = ring.next(0)) {
      last = claim
      const slot = open(ring, 0, claim)
      const closes = ring.finish(claim, slot)
      if (closes) ring.publish(slot)
      if (closes) break // dies here, before it drops the claim
      ring.drop(0)
    }
    expect(ring.held(0)?.claim).toEqual(last)
    ring.release(ring.ready(0)!)
    expect(ring.abandon(0)).toBeUndefined()
    expect(ring.words[Word.Redo]).toBe(0)
  })

  test.each([1, 2, 40])('nor is it when %i more batches have come', batches => {
    const ring = makeRing(64, 1)
    const claim = ring.next(7)!
    ring.finish(claim, open(ring, 7, claim)) // and dies before it drops the claim
    for (let batch = 0; batch <= batches; batch++) {
      work(ring)
      if (batch < batches) ring.release(ring.ready(batch)!)
    }
    ring.release(ring.ready(batches)!)
    const next = ring.next(0)!
    open(ring, 0, next)
    expect(ring.abandon(7)).toBeUndefined()
    expect(ring.words[Word.Redo]).toBe(0)
  })

  test('what a dead maker held is made again, though others were about to take it', () => {
    const ring = makeRing(64, 2)
    const claim = ring.next(3)!
    const claims = new BigInt64Array(ring.memory.buffer, CLAIMS_AT)
    claims[5] = -BigInt(claim.number + 1) // it has seen that number before, and not yet that it is gone
    expect(ring.abandon(3)).toEqual(claim)
  })

  test('what waits to be made again waits once, though a maker died as it was about to take it', () => {
    const ring = makeRing(64, 2)
    const claim = ring.next(3)!
    ring.giveBack(3)
    const claims = new BigInt64Array(ring.memory.buffer, CLAIMS_AT)
    claims[5] = -BigInt(claim.number + 1)
    expect(ring.abandon(5)).toBeUndefined()
    expect(
      [...new BigInt64Array(ring.memory.buffer, At.Redo, MAX_REDO)].filter(word => word !== 0n),
    ).toHaveLength(1)
  })

  test('poisoned rows are known to everybody', () => {
    const ring = makeRing(8, 2)
    ring.poisonRow(1, 5)
    expect(ring.poisoned(1, 5)).toBe(true)
    expect(ring.poisoned(1, 4)).toBe(false)
    expect(ring.poisoned(0, 5)).toBe(false)
  })

  test('any interleaving of makers, deaths and releases makes every batch once, in order', () => {
    const step = fc.record({
      maker: fc.nat(4),
      act: fc.constantFrom('claim', 'finish', 'die', 'take', 'release'),
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 6 }),
        fc.array(step, { maxLength: 300 }),
        (rows, depth, steps) => {
          const ring = makeRing(rows, 6, depth)
          const held = new Map<number, Claim>()
          const taken: number[] = []
          let next = 0
          const take = () => {
            const slot = ring.ready(next)
            if (slot === undefined) return
            expect(taken).not.toContain(slot)
            taken.push(slot)
            next++
          }
          for (const { maker, act } of steps) {
            const claim = held.get(maker)
            if (act === 'claim' && !claim) {
              const got = ring.next(maker)
              if (got) held.set(maker, got)
            } else if (act === 'finish' && claim) {
              finish(ring, maker, claim)
              held.delete(maker)
            } else if (act === 'die' && claim) {
              ring.abandon(maker)
              held.delete(maker)
            } else if (act === 'take') take()
            else if (act === 'release' && taken.length > 0)
              ring.release(taken.splice(maker % taken.length, 1)[0])
          }
          // Everything that was claimed can be finished, whoever does it.
          for (const maker of held.keys()) ring.abandon(maker)
          for (let i = 0; i < 20; i++) {
            work(ring, 9)
            take()
            if (taken.length > 0) ring.release(taken.shift()!)
          }
          expect(next).toBeGreaterThan(0)
          expect(ring.busy).toBe(false)
        },
      ),
    )
  })

  test('makers may die between any two steps, and be found dead any time later', () => {
    const acts = ['go', 'go', 'go', 'go', 'go', 'die', 'bury', 'take', 'take']
    const step = fc.record({ maker: fc.nat(2), act: fc.constantFrom(...acts) })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { minLength: 300, maxLength: 300 }),
        (depth, steps) => {
          const ring = makeRing(16, 4, depth)
          /** Where each maker is: it has a claim, has made it, or has closed and published the batch. */
          const at = new Map<number, { claim: Claim; slot?: Slot; closes?: boolean; dead?: boolean }>()
          const published: number[] = []
          const go = (maker: number): void => {
            const now = at.get(maker)
            if (now?.dead) return
            if (now === undefined) {
              const claim = ring.next(maker)
              if (claim) at.set(maker, { claim })
            } else if (now.slot === undefined) {
              now.slot = open(ring, maker, now.claim)
              expect(now.slot.words[Header.Ready]).toBe(0)
              now.closes = ring.finish(now.claim, now.slot)
            } else if (now.closes) {
              expect([...now.slot.done]).not.toContain(0)
              expect(now.slot.words[Header.Planned]).toBe(16)
              published.push(now.claim.batch)
              ring.publish(now.slot)
              now.closes = false
            } else {
              ring.drop(maker)
              at.delete(maker)
            }
          }
          const cleanUpDeadMaker = (maker: number): void => {
            ring.abandon(maker)
            at.delete(maker)
          }
          let next = 0
          const take = (): void => {
            const slot = ring.ready(next)
            if (slot === undefined) return
            next++
            ring.release(slot)
          }
          for (const { maker, act } of steps) {
            const now = at.get(maker)
            if (act === 'go') go(maker)
            else if (act === 'die' && now) now.dead = true
            else if (act === 'bury' && now?.dead) cleanUpDeadMaker(maker)
            else if (act === 'take') take()
          }
          for (const [maker, { dead }] of at) if (dead) cleanUpDeadMaker(maker)
          const reached = next
          for (let i = 0; i < 200; i++) {
            go(i % 3)
            take()
          }
          expect(next).toBeGreaterThan(reached)
          expect(published).toEqual([...new Set(published)])
          expect(new BigInt64Array(ring.memory.buffer, At.Redo, MAX_REDO).every(word => word === 0n)).toBe(
            true,
          )
        },
      ),
    )
  })
})
