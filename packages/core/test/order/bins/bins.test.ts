/** Batches by tokens and batches of like lengths, against plain loops: each sample once, full bins, any ranks. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DefinitionError, StateError } from '../../../basics/errors.js'
import type { NormalFeed } from '../../../define/types.js'
import { paddingShare, planBatches } from '../../../order/bins/plan.js'
import { compileOrder, planOrder, withChanges } from '../../../order/compile.js'
import type { Order } from '../../../order/order.js'
import { type Place, stepPlan } from '../../../order/steps.js'

type Feed = Pick<NormalFeed, 'order' | 'batch' | 'fields'>
type Last = 'drop' | 'keep' | 'pad'

interface Setup {
  lengths: number[]
  tokens?: number
  rows?: number
  size?: number
  /** Batches of a window. */
  group?: number
  multiple?: number
  seed?: number
  epoch?: number
}

/** A feed with one field, whose rows are padded where there is a `multiple`. */
function feedOf({ tokens, rows, size, group, multiple, seed = 5 }: Setup): Feed {
  const pad = { form: 'padded' as const, to: 'longest' as const, multiple: multiple ?? 1, value: 0 }
  const layout = { name: 'x', dtype: 'i32' as const, shape: [], max: 1e6 }
  return {
    order: {
      kind: 'global',
      seed,
      ...(group !== undefined && { group: { by: 'tokens', batches: group, field: 'x' } }),
    },
    batch: {
      ...(tokens === undefined ? { size } : { bins: { tokens, field: 'x', ...(rows && { rows }) } }),
      last: 'drop',
      apply: [],
    },
    fields: [
      {
        name: 'x',
        from: ['x'],
        as: 'npy',
        apply: [],
        scale: 1,
        minArea: 0,
        layout: multiple === undefined ? { ...layout, form: 'ragged' } : { ...layout, ...pad },
      },
    ],
  }
}

const shared = (lengths: readonly number[]): Uint32Array => {
  const numbers = new Uint32Array(new SharedArrayBuffer(lengths.length * 4))
  numbers.set(lengths)
  return numbers
}

function planned(setup: Setup) {
  const feed = feedOf(setup)
  const source = { count: setup.lengths.length, runs: Float64Array.of(0) }
  const tokens = [shared(setup.lengths)]
  const plain = planOrder(feed.order, [source])
  const batches = planBatches(
    plain,
    feed,
    { tokens, keys: tokens },
    setup.epoch ?? 0,
    (_, row) => `row ${row}`,
  )
  return { ...batches, order: compileOrder(batches.data), plain: compileOrder(plain) }
}

const drawn = (order: Order, epoch: number): number[] =>
  Array.from(
    { length: order.length },
    (_, p) => order.draw(epoch, p, { source: 0, row: 0, drawn: 0, epoch: 0 }).row,
  )

/** Tokens as they lie in a batch. */
function places(lengths: readonly number[], multiple?: number): number {
  if (multiple === undefined) return lengths.reduce((a, b) => a + b, 0)
  return lengths.length * Math.ceil(Math.max(0, ...lengths) / multiple) * multiple
}

/** As many consecutive samples as fit, batch after batch. */
function oracleBins(rows: number[], { lengths, tokens, multiple }: Setup, most: number): number[][] {
  const bins: number[][] = []
  for (const row of rows) {
    const bin = bins.at(-1)
    const more = [...(bin ?? []), row].map(one => lengths[one])
    if (bin !== undefined && bin.length < most && places(more, multiple) <= tokens!) bin.push(row)
    else bins.push([row])
  }
  return bins
}

/** The bins of an epoch as rows of the source. */
function binsOf({ order }: ReturnType<typeof planned>, epoch: number): number[][] {
  const rows = drawn(order, epoch)
  return Array.from({ length: order.bins!.count(epoch) }, (_, bin) =>
    rows.slice(order.bins!.first(epoch, bin), order.bins!.first(epoch, bin + 1)),
  )
}

const anyLengths = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 400 })
const anyTokens = fc.integer({ min: 48, max: 300 })
const anyMultiple = fc.constantFrom(undefined, 1, 8)

describe('bins', () => {
  test('are what plain loops make of the shuffled order', () => {
    const any = fc.record({
      lengths: anyLengths,
      tokens: anyTokens,
      multiple: anyMultiple,
      rows: fc.constantFrom(undefined, 1, 3, 20),
    })
    fc.assert(
      fc.property(any, fc.integer({ min: 0, max: 5 }), (setup, epoch) => {
        const plan = planned(setup)
        expect(binsOf(plan, epoch)).toEqual(oracleBins(drawn(plan.plain, epoch), setup, plan.rows!))
        if (setup.rows !== undefined) expect(plan.rows).toBeLessThanOrEqual(setup.rows)
      }),
      { seed: 3 },
    )
  })

  test('of groups: each sample once an epoch, none above its tokens, like lengths together', () => {
    const any = fc.record({
      lengths: anyLengths,
      tokens: anyTokens,
      multiple: anyMultiple,
      group: fc.integer({ min: 1, max: 9 }),
    })
    fc.assert(
      fc.property(any, fc.integer({ min: 0, max: 5 }), (setup, epoch) => {
        const plan = planned(setup)
        const bins = binsOf(plan, epoch)
        const { window } = plan.data.group!
        expect(bins.flat().sort((a, b) => a - b)).toEqual(setup.lengths.map((_, i) => i))
        const before = drawn(plan.plain, epoch)
        let place = 0
        for (const bin of bins) {
          const own = bin.map(row => setup.lengths[row])
          expect(places(own, setup.multiple)).toBeLessThanOrEqual(setup.tokens)
          expect(own).toEqual([...own].sort((a, b) => a - b))
          // A bin is made of one window of the order before.
          const at = Math.floor(place / window) * window
          expect(before.slice(at, at + window)).toEqual(expect.arrayContaining(bin))
          place += bin.length
        }
      }),
      { seed: 4 },
    )
  })

  test('a state at any bin goes on with other ranks, and no sample is lost or repeated', () => {
    const chain = fc.array(
      fc.record({ world: fc.integer({ min: 1, max: 5 }), steps: fc.integer({ min: 1, max: 6 }) }),
      { minLength: 1 },
    )
    const any = fc.record({ lengths: anyLengths, tokens: anyTokens, group: fc.constantFrom(undefined, 4) })
    fc.assert(
      fc.property(any, chain, fc.constantFrom<Last>('keep', 'pad'), (setup, parts, last) => {
        const { order } = planned(setup)
        const seen: number[] = []
        let place: Place = { epoch: 0, position: 0 }
        for (let i = 0; place.epoch < 2; i++) {
          const { world, steps } = parts[i % parts.length]
          const start = place
          const plans = Array.from({ length: world }, (_, rank) =>
            stepPlan({ length: order.length, world, rank, batch: 1, last, bins: order.bins, start }),
          )
          for (let step = 0; step < steps && place.epoch === start.epoch; step++) {
            const ranks = plans.map(plan => plan.at(step))
            // Ranks of a step take consecutive bins, and agree where they stand.
            for (const [rank, one] of ranks.entries()) {
              expect(one).toMatchObject({ epoch: start.epoch, position: ranks[0].position })
              expect(one.nextState).toEqual(ranks[0].nextState)
              const bin = one.position + rank
              if (one.valid > 0) expect(one.first).toBe(order.bins!.first(one.epoch, bin))
              for (let row = 0; row < one.valid; row++) seen.push(one.epoch * 1e6 + one.first + row)
              // Fillers are whole bins of the epoch's beginning.
              if (last === 'pad') expect(one.count).toBeGreaterThan(0)
              else expect(one.count).toBe(one.valid)
            }
            place = ranks[0].nextState
          }
        }
        const epochs = [0, 1].flatMap(epoch => setup.lengths.map((_, i) => epoch * 1e6 + i))
        expect(seen).toEqual(epochs)
      }),
      { seed: 5 },
    )
  })

  test('"drop": all ranks make the same steps, and fewer bins than ranks are left out', () => {
    const { order } = planned({ lengths: Array.from({ length: 300 }, (_, i) => (i * 37) % 40), tokens: 100 })
    for (const world of [1, 2, 3, 7]) {
      const start = { epoch: 0, position: 0 }
      const of = (rank: number, epochs: number | null) =>
        stepPlan({ length: 300, world, rank, batch: 1, last: 'drop', bins: order.bins, start, epochs })
      const counts = [0, 1, 2].map(epoch => Math.floor(order.bins!.count(epoch) / world))
      for (let rank = 0; rank < world; rank++) {
        expect(of(rank, 3).total).toBe(counts[0] + counts[1] + counts[2])
        expect(of(rank, 3).end).toEqual({ epoch: 3, position: 0 })
        expect(of(rank, null).total).toBe(Infinity)
        const last = of(rank, null).at(counts[0] + counts[1])
        expect(last).toMatchObject({ epoch: 2, stepInEpoch: 0, position: 0 })
        // Taken up in the middle, by as many ranks: it goes on to count.
        const from = { epoch: 0, position: 2 * world }
        const later = stepPlan({
          length: 300,
          world,
          rank,
          batch: 1,
          last: 'drop',
          bins: order.bins,
          start: from,
        })
        expect(later.at(0)).toMatchObject({ epoch: 0, stepInEpoch: 2, position: 2 * world })
      }
    }
    expect(() =>
      stepPlan({
        length: 300,
        world: 200,
        rank: 0,
        batch: 1,
        last: 'drop',
        bins: order.bins,
        start: { epoch: 0, position: 0 },
      }),
    ).toThrow(/fewer than the 200 ranks/)
    expect(() =>
      stepPlan({
        length: 300,
        world: 1,
        rank: 0,
        batch: 1,
        last: 'drop',
        bins: order.bins,
        start: { epoch: 0, position: 299 },
      }),
    ).toThrow(StateError)
  })

  test('a sample that is longer than a bin is refused by its name', () => {
    const long = { lengths: [3, 70, 4], tokens: 64 }
    expect(() => planned(long)).toThrow(DefinitionError)
    expect(() => planned(long)).toThrow(/"x" of row 1 takes 70 tokens, more than the 64 of a batch/)
    // Padding counts.
    expect(() => planned({ lengths: [60], tokens: 63, multiple: 32 })).toThrow(/64 tokens/)
  })

  test('rows have a bound without being given one, so that memory does', () => {
    const lengths = Array.from({ length: 5000 }, (_, i) => (i % 50 === 0 ? 1 : 100))
    expect(planned({ lengths, tokens: 1000 }).rows).toBe(41)
    expect(planned({ lengths: lengths.map(() => 100), tokens: 1000 }).rows).toBe(10)
    expect(planned({ lengths: [0, 0, 0], tokens: 10 }).rows).toBe(3)
  })

  test('weights of a blend stay as they are', () => {
    const { data } = planned({ lengths: [1, 2, 3], tokens: 10 })
    expect(() => withChanges(data, [{ at: 0, weights: [1] }])).toThrow(
      /can't change on the way with batch.tokens/,
    )
    expect(withChanges(data, [])).toBe(data)
  })
})

describe('tables of epochs', () => {
  const setup = { lengths: Array.from({ length: 40_000 }, (_, i) => (i * 7919) % 61), tokens: 500 }
  const starts = ({ bins }: ReturnType<typeof planned>['order'], epoch: number) =>
    Array.from({ length: bins!.count(epoch) + 1 }, (_, bin) => bins!.first(epoch, bin))

  test('one thread makes the next one in parts, and others find it', () => {
    const { data } = planned(setup)
    const [one, other, third] = [compileOrder(data), compileOrder(data), compileOrder(data)]
    let parts = 0
    const { words } = data.bins!.shared
    const isThere = () => words[4] === 2
    while (!isThere() && parts < 20) {
      one.bins!.prepare(1, 0)
      other.bins!.prepare(1, 1) // leaves it to the first
      parts++
    }
    expect(parts).toBe(3)
    expect(starts(third, 1)).toEqual(starts(planned({ ...setup, epoch: 1 }).order, 1))
  })

  test('a worker that died is replaced by one of the same number', () => {
    const { data } = planned(setup)
    compileOrder(data).bins!.prepare(1, 3)
    const [again, other] = [compileOrder(data), compileOrder(data)]
    for (let i = 0; i < 3; i++) other.bins!.prepare(1, 2)
    expect(data.bins!.shared.words[4]).toBe(0)
    for (let i = 0; i < 3; i++) again.bins!.prepare(1, 3)
    expect(data.bins!.shared.words[4]).toBe(2)
  })

  test('what is not there is made by the thread that wants it, and an overwritten table is never believed', () => {
    const { data } = planned(setup)
    const [one, other] = [compileOrder(data), compileOrder(data)]
    const wanted = [0, 1, 2, 3].map(epoch => starts(planned({ ...setup, epoch }).order, epoch))
    // Epochs 0 and 2 have one place.
    expect(starts(one, 2)).toEqual(wanted[2])
    expect(starts(other, 0)).toEqual(wanted[0])
    expect(starts(one, 2)).toEqual(wanted[2])
    // While one is being written, both go on without it.
    data.bins!.shared.words[4 + 2] = 1
    expect(starts(one, 3)).toEqual(wanted[3])
    expect(starts(other, 1)).toEqual(wanted[1])
  })
})

describe('groups of batches of equal size', () => {
  const any = fc.record({
    lengths: anyLengths,
    size: fc.integer({ min: 1, max: 9 }),
    group: fc.integer({ min: 1, max: 9 }),
  })

  test('are what plain loops make of windows of the order', () => {
    fc.assert(
      fc.property(any, fc.integer({ min: 0, max: 5 }), (setup, epoch) => {
        const { order, plain } = planned(setup)
        const { lengths, size, group } = setup
        const before = drawn(plain, epoch)
        const after = drawn(order, epoch)
        const whole = lengths.length - (lengths.length % size)
        for (let at = 0; at < whole; at += size * group) {
          const window = before.slice(at, Math.min(whole, at + size * group))
          const sorted = window
            .map((row, i) => [lengths[row], i, row])
            .sort((a, b) => a[0] - b[0] || a[1] - b[1])
            .map(([, , row]) => row)
          const batches = Array.from({ length: sorted.length / size }, (_, i) =>
            sorted.slice(i * size, (i + 1) * size),
          )
          const got = Array.from({ length: batches.length }, (_, i) =>
            after.slice(at + i * size, at + (i + 1) * size),
          )
          expect(got.map(String).sort()).toEqual(batches.map(String).sort())
        }
        // What makes no whole batch is the end of the order before.
        expect(after.slice(whole)).toEqual(before.slice(whole))
      }),
      { seed: 6 },
    )
  })

  test('the batches of a window are shuffled, otherwise each epoch', () => {
    const lengths = Array.from({ length: 640 }, (_, i) => (i * 7919) % 97)
    const { order } = planned({ lengths, size: 8, group: 16 })
    const firsts = [0, 1, 2].map(epoch => {
      const rows = drawn(order, epoch)
      return Array.from({ length: 80 }, (_, batch) => lengths[rows[batch * 8]])
    })
    for (const lengthsOf of firsts)
      expect(lengthsOf.slice(0, 16)).not.toEqual([...lengthsOf.slice(0, 16)].sort((a, b) => a - b))
    expect(firsts[0]).not.toEqual(firsts[1])
  })

  test('have less padding', () => {
    const lengths = Array.from({ length: 4000 }, (_, i) => 1 + ((i * 7919) % 512))
    const { order, plain, notice } = planned({ lengths, size: 16, group: 32, multiple: 1 })
    const rule = { tokens: Infinity, rows: 16, pad: { multiple: 1, least: 0 } }
    const [before, after] = [plain, order].map(one => paddingShare(one, [shared(lengths)], rule))
    expect(before).toBeGreaterThan(0.4)
    expect(after).toBeLessThan(0.05)
    expect(notice).toMatch(/32 batches a window\): [0-4]\.\d % of them is padding, without groups 4\d\.\d %/)
  })
})
