/** Batches by tokens and batches of like lengths, made by the engine: exactly once, on any ranks, by lengths that are kept. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyBatch,
  type AnyLoader,
  type FeedJson,
  loopIds,
  numberFeed,
  type OpenOptions,
  open,
  type State,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { documentsOf, writeMegatron } from '../../../../../test/support/tokens.js'
import type { FeedPlan } from '../../../engine/plan/plan.js'

const folder = temporaryFolder()
const cache = temporaryFolder()
const COUNT = 700
const lengthOf = (i: number): number => 1 + ((i * 7919) % 60)
const LINES = Array.from({ length: COUNT }, (_, i) =>
  JSON.stringify({ text: 'x'.repeat(lengthOf(i)), size: lengthOf(i), i }),
)

const before = process.env.MILLRACE_CACHE
let holder: AnyLoader
beforeAll(async () => {
  process.env.MILLRACE_CACHE = cache
  writeFileSync(join(folder, 'a.jsonl'), `${LINES.join('\n')}\n`)
  holder = open(numberFeed(1), { workers: 2, depth: 1 })
  await holder.ready
})
afterAll(async () => {
  await holder.close()
  if (before === undefined) delete process.env.MILLRACE_CACHE
  else process.env.MILLRACE_CACHE = before
})

const RAGGED = { ragged: { max: 64 } }
const PADDED = { pad: { to: 'longest' as const, max: 64, multiple: 8 } }

function textFeed(rest: Partial<FeedJson> = {}, form: object = RAGGED): FeedJson {
  return {
    source: { jsonl: join(folder, 'a.jsonl') },
    order: { shuffle: 'global', seed: 4 },
    fields: { text: { from: 'text', as: 'bytes', ...form }, i: { from: 'i', as: 'int' } },
    batch: { tokens: 400, last: 'keep' },
    ...rest,
  }
}

/** What one epoch has handed out: the rows of each batch. */
async function rowsOf(loader: AnyLoader, look: (batch: AnyBatch) => void = () => {}): Promise<number[][]> {
  const rows: number[][] = []
  for await (const batch of loader) {
    rows.push(Array.from(batch.i as ArrayLike<bigint | number>, Number))
    look(batch)
  }
  return rows
}

const inOrder = (rows: number[][]): number[] => rows.flat().sort((a, b) => a - b)
const all = Array.from({ length: COUNT }, (_, i) => i)
const quiet: OpenOptions = { workers: 2, notice: () => {} }

test('every sample once an epoch, and as many tokens as fit', async () => {
  await using(textFeed(), quiet, async loader => {
    for (let epoch = 0; epoch < 3; epoch++) {
      const rows = await rowsOf(loader, batch => {
        const { values, offsets } = batch.text as { values: Uint8Array; offsets: Int32Array }
        expect(values.length).toBeLessThanOrEqual(400)
        expect(offsets[batch.count]).toBe(values.length)
        expect(batch.position).toBe(batch.step)
      })
      expect(inOrder(rows)).toEqual(all)
      const tokens = rows.map(batch => batch.reduce((sum, i) => sum + lengthOf(i), 0))
      // The first sample of the next batch would not have fitted.
      for (let b = 0; b + 1 < rows.length; b++)
        expect(tokens[b] + lengthOf(rows[b + 1][0])).toBeGreaterThan(400)
    }
  })
})

test('padded rows count as they lie in the batch; groups fill it better', async () => {
  const steps: number[] = []
  for (const group of [undefined, { batches: 8 }]) {
    const order = { shuffle: 'global' as const, seed: 4, ...(group && { group }) }
    await using(textFeed({ order }, PADDED), quiet, async loader => {
      const rows = await rowsOf(loader, batch => {
        const [count, width] = batch.shape('text')
        expect(width % 8).toBe(0)
        expect(count * width).toBeLessThanOrEqual(400)
      })
      expect(inOrder(rows)).toEqual(all)
      steps.push(rows.length)
      expect(loader.length).toBe(await loopIds(loader).then(ids => ids.length))
    })
  }
  expect(steps[1]).toBeLessThan(0.8 * steps[0])
})

describe('ranks', () => {
  async function part(json: FeedJson, world: number, steps: number, state?: State) {
    const loaders = Array.from({ length: world }, (_, rank) => open(json, { ...quiet, rank, world, state }))
    try {
      const ids = await Promise.all(loaders.map(loader => loopIds(loader, steps)))
      const states = loaders.map(loader => loader.state())
      expect(states).toEqual(states.map(() => states[0]))
      expect(ids.map(rank => rank.length)).toEqual(ids.map(() => ids[0].length))
      return { ids: ids[0].flatMap((_, step) => ids.flatMap(rank => rank[step])), state: states[0] }
    } finally {
      await Promise.all(loaders.map(loader => loader.close()))
    }
  }

  test.each([undefined, { batches: 4 }])('a state goes on with others (group %j)', async group => {
    const json = textFeed({ order: { shuffle: 'global', seed: 4, ...(group && { group }) } })
    const alone = await part(json, 1, Number.POSITIVE_INFINITY)
    const ids: string[] = []
    let state: State | undefined
    for (const [world, steps] of [
      [2, 7],
      [3, 4],
      [1, 5],
      [4, Number.POSITIVE_INFINITY],
    ]) {
      const done = await part(json, world, steps, state)
      ids.push(...done.ids)
      state = done.state
    }
    // The line of samples is the same for any ranks.
    expect(ids).toEqual(alone.ids)
    expect(state).toMatchObject({ epoch: 1, position: 0 })
  })

  test('"pad" fills ranks up with batches of the beginning, whose rows are not valid', async () => {
    const json = textFeed({ batch: { tokens: 400, last: 'pad' } })
    const seen: number[] = []
    let fillers = 0
    for (let rank = 0; rank < 4; rank++)
      await using(json, { ...quiet, rank, world: 4 }, async loader => {
        await rowsOf(loader, batch => {
          const own = Array.from(batch.i as ArrayLike<bigint>, Number)
          for (const [row, i] of own.entries()) if (batch.valid[row] === 1) seen.push(i)
          if (batch.valid[0] === 0) fillers++
        })
      })
    expect(seen.sort((a, b) => a - b)).toEqual(all)
    expect(fillers).toBeGreaterThan(0)
  })
})

test('groups of batches of equal size: once, with less padding, and a state in the middle', async () => {
  const order = { shuffle: 'global' as const, seed: 4, group: { by: 'size', batches: 8 } }
  const json = textFeed({ order, batch: 10 }, PADDED)
  const plain = textFeed({ batch: 10 }, PADDED)
  const places = async (feed: FeedJson) => {
    let sum = 0
    await using(feed, quiet, async loader => {
      const rows = await rowsOf(loader, batch => {
        sum += batch.shape('text')[0] * batch.shape('text')[1]
      })
      expect(inOrder(rows)).toEqual(all)
    })
    return sum
  }
  expect(await places(json)).toBeLessThan(0.75 * (await places(plain)))

  const whole = await using(json, quiet, loader => rowsOf(loader))
  let state!: State
  const first = await using(json, quiet, async loader => {
    const ids = await loopIds(loader, 13)
    state = loader.state()
    return ids
  })
  expect(first.length).toBe(13)
  const rest = await using(json, { ...quiet, workers: 0, state }, loader => rowsOf(loader))
  expect(rest).toEqual(whole.slice(13))
})

describe('lengths', () => {
  const measured = async (json: FeedJson): Promise<boolean> => {
    const notices: string[] = []
    const progress: number[] = []
    const options = {
      workers: 1,
      notice: (text: string) => notices.push(text),
      progress: (done: number, _: number, what: string) =>
        what.startsWith('measuring') && progress.push(done),
    }
    await using(json, options, async loader => {
      await loader.ready
    })
    const reported = notices.some(text => text.includes('made once to measure them'))
    expect(progress.at(-1)).toBe(reported ? COUNT : undefined)
    return reported
  }

  test('are measured once and kept, by data and by what is made of them', async () => {
    const file = join(folder, 'b.jsonl')
    const source = { jsonl: file }
    writeFileSync(file, `${LINES.join('\n')}\n`)
    expect(await measured(textFeed({ source }))).toBe(true)
    expect(await measured(textFeed({ source }))).toBe(false)
    // How rows lie in a batch does not matter; how long they may be does.
    expect(await measured(textFeed({ source, batch: { tokens: 999 } }, PADDED))).toBe(false)
    expect(await measured(textFeed({ source }, { ragged: { max: 65 } }))).toBe(true)
    writeFileSync(file, `${[...LINES].reverse().join('\n')}\n`)
    expect(await measured(textFeed({ source }))).toBe(true)
  })

  test('are measured by one of several ranks that open at the same time', async () => {
    const file = join(folder, 'f.jsonl')
    writeFileSync(file, `${LINES.join('\n')}\n`)
    const notices: string[] = []
    const loaders = [0, 1, 2].map(rank =>
      open(textFeed({ source: { jsonl: file } }), {
        workers: 1,
        rank,
        world: 3,
        notice: text => notices.push(text),
      }),
    )
    await Promise.all(loaders.map(loader => loader.ready))
    const [one, other] = loaders.map(
      loader => (loader as unknown as { plan: FeedPlan }).plan.orderData.bins!.lengths[0],
    )
    expect(other).toBe(one)
    await Promise.all(loaders.map(loader => loader.close()))
    expect(notices.filter(text => text.includes('made once'))).toHaveLength(1)
  })

  test('of text that is tokenised on the fly', async () => {
    const field = (tokenize: object) => ({
      fields: {
        text: {
          from: 'text',
          as: 'text' as const,
          apply: [{ tokenize: { tokenizer: 'millrace-4k', ...tokenize } }],
          ragged: {},
        },
        i: { from: 'i', as: 'int' as const },
      },
    })
    const json = textFeed({ ...field({ max: 64 }), batch: { tokens: 100, last: 'keep' } })
    const tokens: number[] = []
    const rows = await using(json, quiet, loader =>
      rowsOf(loader, batch => {
        tokens.push((batch.text as { values: BigInt64Array }).values.length)
      }),
    )
    expect(inOrder(rows)).toEqual(all)
    expect(Math.max(...tokens)).toBeLessThanOrEqual(100)
    expect(tokens.reduce((a, b) => a + b, 0) / tokens.length).toBeGreaterThan(70)
    expect(await measured(json)).toBe(false)
    // Cut otherwise, or by another tokenizer, they are others.
    expect(await measured({ ...json, ...field({ max: 8 }) })).toBe(true)
    expect(await measured({ ...json, ...field({ max: 64, special: 'parse' }) })).toBe(true)
  })

  test.each([{}, { insert: { bos: 1, eod: 2 } }, { shift: 'model' as const, long: 'truncate' as const }])(
    'of documents come from their files: %j',
    async more => {
      const at = temporaryFolder()
      const documents = documentsOf(Array.from({ length: 200 }, (_, i) => 2 + ((i * 31) % 90)))
      writeMegatron(at, 'one', documents.slice(0, 120))
      writeMegatron(at, 'two', documents.slice(120))
      const tokens = (path: string) => ({
        tokens: { path, length: 64, pack: 'document' as const, ragged: true, ...more },
      })
      for (const source of [
        tokens(join(at, '*.bin')),
        { concat: [tokens(join(at, 'one.bin')), tokens(join(at, 'two.bin'))] },
        { subset: { source: tokens(join(at, '*.bin')), range: [0, 150] as [number, number] } },
      ]) {
        const input = 'shift' in more ? 'tokens' : 'input'
        const json: FeedJson = {
          source,
          order: { shuffle: 'global', seed: 4, group: { batches: 4 } },
          fields: { x: { from: input, as: 'npy', dtype: 'i32', shape: [64], ragged: { max: 64 } } },
          batch: { tokens: 256, last: 'keep' },
        }
        const notices: string[] = []
        await using(json, { workers: 1, epochs: 1, notice: text => notices.push(text) }, async loader => {
          const ids: string[] = []
          const lengths: number[] = []
          for await (const batch of loader) {
            const { values, offsets } = batch.x as { values: Int32Array; offsets: Int32Array }
            expect(values.length).toBeLessThanOrEqual(256)
            ids.push(...batch.ids)
            for (let row = 0; row < batch.count; row++) lengths.push(offsets[row + 1] - offsets[row])
          }
          const { attached, orderData } = (loader as unknown as { plan: FeedPlan }).plan
          expect(new Set(ids).size).toBe(attached[0].count)
          // The lengths that bins were made by are those that came.
          const sorted = (numbers: Iterable<number>) => [...numbers].sort((a, b) => a - b)
          expect(sorted(lengths)).toEqual(sorted(orderData.bins!.lengths[0]))
        })
        expect(notices.filter(text => text.includes('made once'))).toEqual([])
      }
    },
  )

  test('come from a column that is named, and both make the same batches', async () => {
    const batch = { tokens: 400, by: 'size', last: 'keep' as const }
    expect(await measured(textFeed({ batch }))).toBe(false)
    const [reported, own] = [
      await using(textFeed({ batch }), quiet, loader => rowsOf(loader)),
      await using(textFeed(), quiet, loader => rowsOf(loader)),
    ]
    expect(reported).toEqual(own)
    await expect(measured(textFeed({ batch: { tokens: 400, by: 'none' } }))).rejects.toThrow(/"none"/)
    await expect(measured(textFeed({ batch: { tokens: 400, by: 'text' } }))).rejects.toThrow(
      /"text" of .*expected a number from 0, the length of the sample/,
    )
  })

  test('a sample that is too long for a batch is named', async () => {
    await expect(measured(textFeed({ batch: { tokens: 50 } }))).rejects.toThrow(
      /"text" of a.jsonl\S* takes (5[1-9]|60) tokens, more than the 50 of a batch/,
    )
  })

  test('a bad sample has none, and is judged when its turn comes', async () => {
    const file = join(folder, 'd.jsonl')
    const lines = [...LINES]
    lines[100] = JSON.stringify({ text: 'x'.repeat(80), size: 80, i: 100 })
    writeFileSync(file, `${lines.join('\n')}\n`)
    const json = textFeed({ source: { jsonl: file }, onError: 'drop' })
    const rows = await using(json, quiet, loader => rowsOf(loader))
    expect(inOrder(rows)).toEqual(all.filter(i => i !== 100))
    await expect(using({ ...json, onError: 'fail' }, quiet, loader => rowsOf(loader))).rejects.toThrow(/80/)
  })
})

test('a loop ends after so many tokens', async () => {
  await using(textFeed(), { ...quiet, tokens: 2001, world: 2, rank: 0 }, async loader => {
    // Steps of two batches of 400.
    expect((await rowsOf(loader)).length).toBe(3)
  })
})

test('the table of the next epoch is made by a worker before it is wanted', async () => {
  const json = numberFeed(20_000, { batch: { tokens: 4 * 50, last: 'keep' } }, 64)
  await using(json, { workers: 1, notice: () => {} }, async loader => {
    await loader.ready
    const { words } = (loader as unknown as { plan: FeedPlan }).plan.orderData.bins!.shared
    // The first word of each table is its epoch, counted from 1.
    const tables = () => [words[0], words[words.length / 2]]
    expect(tables()).toEqual([1, 0])
    let steps = 0
    for await (const _ of loader) if (++steps === 200) expect(tables()).toEqual([1, 2])
    expect(steps).toBe(400)
  })
})

test('a state of other batches is refused, with what is different', async () => {
  const state = async (json: FeedJson) =>
    using(json, quiet, async loader => {
      await loopIds(loader, 2)
      return loader.state()
    })
  const refused = async (saved: State, json: FeedJson) => {
    const loader = open(json, { ...quiet, state: saved })
    const message = await loader.ready.then(
      () => 'none',
      (error: Error) => error.message,
    )
    await loader.close()
    return message
  }
  const group = { shuffle: 'global' as const, seed: 4, group: { by: 'size', batches: 8 } }
  const saved = await state(textFeed())
  expect(await refused(saved, textFeed({ batch: { tokens: 500, last: 'keep' } }))).toMatch(
    /Batches were of 400 tokens of "text" and are now of 500 tokens of "text"/,
  )
  expect(await refused(saved, textFeed({ batch: 8 }))).toMatch(
    /of 400 tokens of "text" and are now of equal size/,
  )
  expect(await refused(saved, textFeed({ batch: { tokens: 400 } }))).toBe('none')
  const grouped = await state(textFeed({ order: group, batch: 8 }))
  expect(await refused(grouped, textFeed({ order: group, batch: 9 }))).toMatch(
    /grouped by size within 8 batches of 8 and are now grouped by size within 8 batches of 9/,
  )
})

test('a blend: lengths of each source, in one line of bins', async () => {
  const entry = (name: string) => ({ source: { jsonl: join(folder, `${name}.jsonl`) }, weight: 1, name })
  writeFileSync(join(folder, 'e.jsonl'), `${LINES.slice(0, 50).join('\n')}\n`)
  const json = textFeed({ source: { blend: { entries: [entry('a'), entry('e')] } } })
  await using(json, quiet, async loader => {
    await loader.ready
    const { length } = loader
    let samples = 0
    const rows = await rowsOf(loader, batch => {
      samples += batch.count
      expect((batch.text as { values: Uint8Array }).values.length).toBeLessThanOrEqual(400)
    })
    expect(samples).toBe(COUNT + 50)
    expect(rows.length).toBe(length)
    await expect(loader.setWeights([1, 3])).rejects.toThrow(/can't change on the way with batch.tokens/)
  })
})
