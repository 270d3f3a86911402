/**
 * Every combinator and every order over a set of data, with any number of workers, and resumed with others: what is delivered
 * is compared with an oracle that knows nothing of Millrace. The data are two sets of rows; an id ends with the set's
 * seed and the row's number there, `s1-42`, and `expected` of units-source.mjs says what the row holds.
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SourceJson } from '../../packages/core/define/types.js'
import {
  type AnyBatch,
  type AnyLoader,
  type FeedJson,
  numberFeed,
  type OpenOptions,
  open,
  type State,
} from '../support/engine.js'
import { expected } from '../support/units-source.mjs'

export interface Data {
  /** Of both sets, by their seeds, 1 and 2. */
  source(seed: number, prefix?: string): SourceJson
  rows(seed: number): number
  /** How often the bytes of a value are repeated. */
  times: number
  plugins: string[]
  /** Whether the source can give its columns another prefix, for `zip`. */
  prefixes: boolean
  window: number
  /** Only the orders that go by units, over fewer sources. */
  brief?: boolean
  /** How many times a feed is opened: by default with 0, 1, 2 and 5 workers. */
  workers?: readonly number[]
}

const WORKERS = [0, 1, 2, 5]
const ORDERS: [string, FeedJson['order']][] = [
  ['none', 'none'],
  ['global', { shuffle: 'global', seed: 5 }],
  ['weights', { weights: { column: 'label' }, seed: 5 }],
]
const PATTERN = /s(\d+)-(\d+)$/

interface Row {
  seed: number
  row: number
}

function rowOf(id: string): Row {
  const [, seed, row] = PATTERN.exec(id)!
  return { seed: Number(seed), row: Number(row) }
}

function remembered<T>(compute: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>()
  return name => {
    const value = known.get(name) ?? compute(name)
    known.set(name, value)
    return value
  }
}

const labelOf = ({ seed, row }: Row): number => expected(seed, row).label
const groupOf = ({ seed, row }: Row): string => expected(seed, row).group
const nameOf = ({ seed, row }: Row): string => `s${seed}-${row}`

export function matrix(name: string, data: Data): void {
  const all = (seed: number): Row[] => Array.from({ length: data.rows(seed) }, (_, row) => ({ seed, row }))
  const one = data.source(1)
  const two = data.source(2)
  const every = all(1)

  /** Each source, and the rows that it must have, in its order; where only Millrace knows them, what is known. */
  const sources: [string, SourceJson, Row[]][] = [
    ['the source itself', one, every],
    ['concat', { concat: [two, one] }, [...all(2), ...every]],
    ['subset of a range', { subset: { source: one, range: [101, 877] } }, every.slice(101, 877)],
    [
      'subset of indices',
      { subset: { source: one, indices: every.map(({ row }) => row).filter(row => row % 3 === 1) } },
      every.filter(({ row }) => row % 3 === 1),
    ],
    [
      'subset by where',
      { subset: { source: one, where: { label: [1, 2, 5] } } },
      every.filter(row => [1, 2, 5].includes(labelOf(row))),
    ],
    [
      'subset of a concat of subsets',
      {
        subset: {
          source: { concat: [{ subset: { source: one, range: [50, 700] } }, two] },
          range: [600, 900],
        },
      },
      [...every.slice(50, 700), ...all(2)].slice(600, 900),
    ],
  ]
  if (data.prefixes) {
    const beside = { zip: [one, data.source(1, 'b_')] } as SourceJson
    sources.push(['zip', beside, every])
    sources.push(['subset of zip', { subset: { source: beside, range: [7, 500] } }, every.slice(7, 500)])
  }

  const feedOf = (source: SourceJson, order: FeedJson['order'], batch = 32): FeedJson => {
    const bytes = (from: string) => ({ from, as: 'bytes' as const, ragged: { max: 24 * data.times } })
    const zipped = JSON.stringify(source).includes('"b_"')
    return {
      source,
      order,
      fields: {
        data: bytes('data'),
        extra: bytes('extra'),
        own: bytes('own'),
        number: { from: 'number', as: 'int' },
        ...(zipped && { other: bytes('b_extra') }),
      },
      batch: { size: batch, last: 'keep' },
    }
  }

  const valuesOf = remembered((name: string): Record<string, string> => {
    const { seed, row } = rowOf(name)
    const holds = expected(seed, row)
    const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').repeat(data.times)
    const [bytes, extra, own] = [text(holds.data), text(holds.extra), text(holds.own)]
    return { data: bytes, extra, own, number: String(holds.number), other: extra }
  })

  /** What a row must hold, as one text. */
  const oracle = (id: string, fields: readonly string[]): string => {
    const values = valuesOf(nameOf(rowOf(id)))
    return fields.map(field => `${field} ${values[field]}`).join(', ')
  }

  /** What the rows of a batch hold. */
  const held = (batch: AnyBatch, fields: readonly string[]): string[] =>
    batch.ids.map((_, i) =>
      fields
        .map(field => {
          const value = batch.get(field) as { values: Uint8Array; offsets: Int32Array } | BigInt64Array
          if (!('offsets' in value)) return `${field} ${value[i]}`
          const { values, offsets } = value
          return `${field} ${Buffer.from(values.subarray(offsets[i], offsets[i + 1])).toString('hex')}`
        })
        .join(', '),
    )

  const options: OpenOptions = { plugins: data.plugins, epochs: 1 }

  /** The ids of an epoch, and a digest of all that it delivers, which must be the oracle's. */
  async function epoch(json: FeedJson, more: OpenOptions): Promise<string[]> {
    const loader = open(json, { ...options, ...more }) as AnyLoader
    const fields = Object.keys(json.fields)
    const ids: string[] = []
    const digest = createHash('sha256')
    const wanted = createHash('sha256')
    try {
      for await (const batch of loader) {
        ids.push(...batch.ids)
        const rows = held(batch, fields)
        const right = batch.ids.map(id => oracle(id, fields))
        // The first that differs says more than a digest.
        const wrong = rows.findIndex((row, i) => row !== right[i])
        if (wrong >= 0)
          expect({ [batch.ids[wrong]]: rows[wrong] }).toEqual({ [batch.ids[wrong]]: right[wrong] })
        for (const row of rows) digest.update(row)
        for (const row of right) wanted.update(row)
      }
    } finally {
      await loader.close()
    }
    expect(digest.digest('hex')).toBe(wanted.digest('hex'))
    return ids
  }

  const namesIn = (ids: readonly string[]): string[] => ids.map(id => nameOf(rowOf(id)))
  const all4: typeof ORDERS = [...ORDERS, ['window', { shuffle: { window: data.window }, seed: 5 }]]
  const orders = data.brief ? all4.filter(([order]) => order === 'none' || order === 'window') : all4

  describe(name, () => {
    /** Keeps the pool, so that not every feed starts threads of its own. */
    let holder: AnyLoader
    beforeAll(async () => {
      holder = open(numberFeed(1), { workers: 2, depth: 1 }) as AnyLoader
      await holder.ready
    })
    afterAll(() => holder.close())

    describe.each(data.brief ? sources.filter((_, i) => i % 3 === 0) : sources)('%s', (_, source, rows) => {
      test.each(orders)('in the order %s, with any workers', async (order, json) => {
        const feed = feedOf(source, json)
        const names: string[][] = []
        for (const workers of data.workers ?? WORKERS) names.push(namesIn(await epoch(feed, { workers })))
        for (const other of names) expect(other).toEqual(names[0])
        const whole = rows.map(nameOf)
        if (order === 'none') expect(names[0]).toEqual(whole)
        else if (order !== 'weights') {
          expect(names[0]).not.toEqual(whole)
          expect([...names[0]].sort()).toEqual([...whole].sort())
        } else {
          expect(names[0].length).toBe(rows.length)
          const known = new Set(whole)
          expect(names[0].every(id => known.has(id) && labelOf(rowOf(id)) > 0)).toBe(true)
        }
      })
    })

    test.each([
      ['by keys', {}],
      ['with groupBy', { groupBy: 'group' }],
      ['with stratifyBy', { stratifyBy: 'label' }],
    ])('split %s divides the rows', async (_, by) => {
      const take = async (part: string): Promise<Row[]> => {
        const source = { split: { source: one, parts: { train: 0.7, val: 0.3 }, take: part, ...by } }
        const json = feedOf(source, { shuffle: { window: data.window }, seed: 3 })
        const ids = await epoch(json, { workers: 2 })
        expect(await epoch(json, { workers: 0 })).toEqual(ids)
        return ids.map(rowOf)
      }
      const [train, val] = [await take('train'), await take('val')]
      expect([...train, ...val].map(nameOf).sort()).toEqual(every.map(nameOf).sort())
      if ('groupBy' in by) {
        const groups = new Set(train.map(groupOf))
        expect(val.filter(row => groups.has(groupOf(row)))).toEqual([])
      }
      if (!('stratifyBy' in by)) return
      for (let label = 0; label < 7; label++) {
        const total = every.filter(row => labelOf(row) === label).length
        expect(
          Math.abs(train.filter(row => labelOf(row) === label).length - 0.7 * total),
        ).toBeLessThanOrEqual(1)
      }
    })

    test.each(orders.filter(([order]) => order !== 'weights'))(
      'blend with names of its own and weights, in the order %s',
      async (_, order) => {
        const source: SourceJson = {
          blend: {
            entries: [
              { source: one, weight: 3, name: 'one' },
              // The columns of the second have changed places, and change back.
              { source: two, weight: 1, name: 'two', rename: { data: 'extra', extra: 'data' } },
            ],
            epoch: 1000,
          },
        }
        const feed = feedOf(source, order)
        feed.fields = { own: feed.fields.own, number: feed.fields.number }
        const ids = await epoch(feed, { workers: 2 })
        expect(ids.length).toBe(1000)
        expect(ids.filter(id => rowOf(id).seed === 1).length).toBe(750)
        for (const workers of [0, 5]) expect(await epoch(feed, { workers })).toEqual(ids)
        // What was renamed: `data` of the second is what its source calls `extra`.
        const renamed = open({ ...feed, fields: feedOf(source, order).fields }, { ...options, workers: 1 })
        try {
          for await (const batch of renamed as AnyLoader) {
            const rows = held(batch, ['data', 'extra'])
            batch.ids.forEach((id, i) => {
              const right = oracle(id, ['data', 'extra'])
              const [a, b] = right.slice(5).split(', extra ')
              expect(rows[i]).toBe(rowOf(id).seed === 1 ? right : `data ${b}, extra ${a}`)
            })
          }
        } finally {
          await renamed.close()
        }
      },
    )

    describe('resumed with other workers, batches and ranks', () => {
      const parts = [
        { world: 1, batch: 16, workers: 2, steps: 7 },
        { world: 3, batch: 9, workers: 5, steps: 5 },
        { world: 2, batch: 31, workers: 0, steps: 3 },
        { world: 4, batch: 8, workers: 1, steps: Number.POSITIVE_INFINITY },
      ]

      /** All ranks of a part: the ids by position, and the state after. */
      async function run(json: FeedJson, part: (typeof parts)[number], state?: State) {
        const { world, batch: size, workers, steps } = part
        const feed = { ...json, batch: { size, last: 'keep' as const } }
        const loaders = Array.from(
          { length: world },
          (_, rank) =>
            open(feed, { ...options, epochs: undefined, rank, world, workers, state }) as AnyLoader,
        )
        const found: [number, string][] = []
        try {
          const states = await Promise.all(
            loaders.map(async loader => {
              let step = 0
              for await (const batch of loader) {
                const rows = held(batch, Object.keys(json.fields))
                batch.ids.forEach((id, i) => {
                  expect(rows[i]).toBe(oracle(id, Object.keys(json.fields)))
                  found.push([batch.positions[i], id])
                })
                if (++step === steps) break
              }
              return loader.state()
            }),
          )
          expect(states).toEqual(states.map(() => states[0]))
          return { found, state: states[0] }
        } finally {
          await Promise.all(loaders.map(loader => loader.close()))
        }
      }

      test.each(orders)('in the order %s', async (_, order) => {
        const json = feedOf(
          { subset: { source: { concat: [one, two] }, range: [200, data.rows(1) + 300] } },
          order,
        )
        const whole = await epoch(json, { workers: 0 })
        let state: State | undefined
        const found: [number, string][] = []
        for (const part of parts) {
          const done = await run(json, part, state)
          state = JSON.parse(JSON.stringify(done.state))
          found.push(...done.found)
        }
        // Each position once, with the id that an uninterrupted run has there.
        found.sort(([a], [b]) => a - b)
        expect(found).toEqual(whole.map((id, position) => [position, id]))
      })
    })
  })
}
