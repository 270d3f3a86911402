/** Functions of the user's: on a field, over the sample, asynchronous, seeded; and what becomes of their errors. */
import { describe, expect, test } from 'vitest'
import { digests, feedModule, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { programs } from '../../../../test/support/program.js'

const root = temporaryFolder()
let modules = 0

/** A feed of 32 samples with label i mod 16, and a function on the label. */
const withMap = (fn: string, rest = '') =>
  feedModule(
    root,
    `field-${modules++}.feed.mjs`,
    `export default feed({
      source: synthetic({ count: 32, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(${fn}) },
      batch: 8, ${rest}
    })`,
  )

const withSampleMap = (fn: string, rest = '') =>
  feedModule(
    root,
    `sample-${modules++}.feed.mjs`,
    `export default feed({
      source: synthetic({ count: 32, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls') }, map: ${fn}, batch: 8, ${rest}
    })`,
  )

type Feed = Awaited<ReturnType<typeof withMap>>

async function labels(feed: Feed, workers: number): Promise<number[]> {
  return using(feed, { workers }, async loader => {
    const out: number[] = []
    for await (const batch of loader) out.push(...Array.from(batch.label as BigInt64Array, Number))
    return out
  })
}

const counted = (f: (i: number) => number) => Array.from({ length: 32 }, (_, i) => f(i % 16))

describe.each([0, 2])('with %i workers', workers => {
  test('a function on a field', async () => {
    expect(await labels(await withMap('value => value * 2'), workers)).toEqual(counted(i => i * 2))
  })

  test('an asynchronous one', async () => {
    const fn = 'async value => { await new Promise(r => setTimeout(r, value % 3)); return value + 100 }'
    expect(await labels(await withMap(fn), workers)).toEqual(counted(i => i + 100))
  })

  test('arrays that it returns become JSON; nothing is no text', async () => {
    const made = async (field: string) => {
      const feed = await feedModule(
        root,
        `made-${modules++}.feed.mjs`,
        `export default feed({ source: synthetic({ count: 2, images: { width: 8, height: 8, classes: 2 } }), fields: { x: ${field} }, batch: 2 })`,
      )
      return using(feed, { workers }, async loader => {
        for await (const batch of loader) return batch.x as unknown as string[]
      })
    }
    const arrays = "[Int32Array.of(7, 8), { dtype: 'f32', shape: [1], data: new Uint8Array(4) }]"
    expect(await made(`json('cls').map(value => ${arrays}[value])`)).toEqual(['[7,8]', '[0]'])
    await expect(made(`text('cls').map(value => {})`)).rejects.toThrow(/returned no value: return one/)
  })

  test('one over the sample', async () => {
    const fn = 'sample => ({ ...sample, cls: sample.cls + sample.jpg.length * 0 + 7 })'
    expect(await labels(await withSampleMap(fn), workers)).toEqual(counted(i => i + 7))
  })

  test('an asynchronous one over the sample', async () => {
    const fn = 'async sample => { await null; return { cls: 1000 - sample.cls } }'
    expect(await labels(await withSampleMap(fn), workers)).toEqual(counted(i => 1000 - i))
  })

  test('errors name the sample, the field and the stage', async () => {
    const thrown = "value => { if (value === 3) throw new Error('mine'); return value }"
    for (const fn of [thrown, `async ${thrown}`])
      await expect(labels(await withMap(fn), workers)).rejects.toThrow(
        /^.*sample 3: map of field "label" failed: mine/,
      )
  })

  test('whatever is thrown', async () => {
    const things = ["new Error('mine')", "'a string'", 'null', 'undefined', 'Object.create(null)']
    const reported = ['mine', 'a string', 'null', 'undefined', 'it threw something that can’t be shown']
    const fn = `value => { if (value < 5) throw [${things}][value]; return value }`
    for (const body of [fn, `async ${fn}`]) {
      const feed = await withMap(body, "onError: { policy: 'drop', budget: 10 }")
      await using(feed, { workers }, async loader => {
        for await (const _ of loader);
        const messages = new Map(loader.stats().bad.samples.map(({ id, message }) => [id, message]))
        // Samples 16 and on have the same labels.
        for (const [i, words] of reported.entries())
          for (const id of [i, i + 16])
            expect(messages.get(String(id))).toMatch(`map of field "label" failed: ${words}`)
      })
    }
  })

  test('errors over the sample, too', async () => {
    const thrown = "sample => { if (sample.cls === 3) throw new TypeError('mine'); return sample }"
    for (const fn of [thrown, `async ${thrown}`])
      await expect(labels(await withSampleMap(fn), workers)).rejects.toThrow(/sample 3: map failed: mine/)
    for (const fn of ['() => undefined', 'async () => 7', '() => null'])
      await expect(labels(await withSampleMap(fn), workers)).rejects.toThrow(
        /sample 0: map failed: .*return.*columns/,
      )
    await expect(labels(await withSampleMap('() => ({ label: 1 })'), workers)).rejects.toThrow(
      /sample 0: read of field "label" failed: .*no column "cls"; it has label/,
    )
  })

  test('bad values of a function are errors of the sample', async () => {
    await expect(labels(await withMap('() => NaN'), workers)).rejects.toThrow(
      /sample 0: \w+ of field "label" failed/,
    )
    await expect(labels(await withMap("() => 'seven'"), workers)).rejects.toThrow(
      /sample 0: \w+ of field "label"/,
    )
  })

  test('errors count by the policy', async () => {
    const fn = "async value => { if (value === 3) throw new Error('mine'); return value }"
    const feed = await withMap(fn, "onError: 'drop'")
    expect(await labels(feed, workers)).toEqual(counted(i => i).filter(i => i !== 3))
  })
})

test('random choices of functions are the same for any workers, and other ones in the next epoch', async () => {
  const fn =
    'async (value, random) => { const a = random.int(1000); await null; return a + random.int(1000) }'
  for (const feed of [
    await withMap(fn),
    await withSampleMap(`(s, random) => ({ cls: random.int(2 ** 30) })`),
  ]) {
    const expected = await digests(feed, { workers: 0 }, 2)
    expect(new Set(expected).size).toBe(8)
    for (const workers of [1, 2, 5]) expect(await digests(feed, { workers }, 2)).toEqual(expected)
  }
})

test('a module that fails in the makers says why', async () => {
  const feed = await feedModule(
    root,
    'fails.feed.mjs',
    `import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) throw new Error('not here')
    export default feed({
      source: synthetic({ count: 8, tensors: { shape: [1] } }),
      fields: { x: bytes('data').map(value => value) }, batch: 8 })`,
  )
  await expect(
    using(feed, { workers: 1 }, async loader => {
      for await (const _ of loader);
    }),
  ).rejects.toThrow(/not here/)
})

test('an error of ours that a module throws in the makers stays what it is', async () => {
  const feed = await feedModule(
    root,
    'ours.feed.mjs',
    `import { isMainThread } from 'node:worker_threads'
    if (!isMainThread) throw new DefinitionError('batch', 'must be even')
    export default feed({
      source: synthetic({ count: 8, tensors: { shape: [1] } }),
      fields: { x: bytes('data').map(value => value) }, batch: 8 })`,
  )
  const failure = using(feed, { workers: 1 }, async loader => {
    for await (const _ of loader);
  })
  await expect(failure).rejects.toThrow(/must be even/)
  await expect(failure).rejects.not.toThrow(/can't be imported/)
})

test('a function that is another one in the makers is refused', async () => {
  const feed = await withMap('value => value')
  const call = (feed.json.fields.label.map as { call: { hash: string } }).call
  const json = {
    ...feed.json,
    fields: {
      label: { ...feed.json.fields.label, map: { call: { ...call, hash: '0'.repeat(call.hash.length) } } },
    },
  }
  await expect(
    using(json as never, { workers: 1, allowCode: true }, async loader => {
      for await (const _ of loader);
    }),
  ).rejects.toThrow(/not the one of the definition/)
})

/** A feed whose module never finishes loading in a maker. */
const endless = () =>
  feedModule(
    root,
    'endless.feed.mjs',
    `import { isMainThread } from 'node:worker_threads'
    export default feed({
      source: synthetic({ count: 32, images: { width: 8, height: 8, classes: 16 } }),
      fields: { label: int('cls').map(value => value) },
      batch: 8,
    })
    if (!isMainThread) await new Promise(() => setInterval(() => {}, 1000))`,
  )

test('a module that never finishes loading in a maker is named, and other feeds go on', async () => {
  const first = using(await endless(), { workers: 2, timeout: 0.5 }, loader =>
    loader[Symbol.asyncIterator]().next(),
  )
  await expect(first).rejects.toThrow(
    /endless\.feed\.mjs is still loading after 0\.5 s: an "await" at its top level does not end/,
  )
  expect(await labels(await withMap('value => value * 2'), 2)).toEqual(counted(i => i * 2))
})

test('nor do they wait for it once its own is closed', async () => {
  await using(await withMap('value => value * 2'), { workers: 2 }, async other => {
    await other.ready
    await using(await endless(), { workers: 2, timeout: 1e6 }, async loader => {
      await loader.ready
      await new Promise(resolve => setTimeout(resolve, 500))
    })
    // Makers that still waited for it would do so for 1e6 seconds.
    for (let i = 0; i < 3; i++) for await (const _ of other);
  })
})

test.each([
  ['a rejection', "value => { Promise.reject(new Error('too late')); return value }"],
  ['an error in a timer', "value => { setTimeout(() => { throw new Error('too late') }, 1); return value }"],
])('%s that comes after a function has returned is reported', async (_, fn) => {
  await withMap(fn)
  const { code, stderr } = await programs(root).run(
    `import late from './field-${modules - 1}.feed.mjs'
    const loader = open(late, { workers: 1 })
    try { for await (const batch of loader); } catch { process.exitCode = 1 }
    await loader.close()`,
  )
  expect(stderr).toMatch(/a function of yours failed after it had returned: too late/)
  expect(code).toBe(1)
})

test('a module that is not there is told in one sentence', async () => {
  const feed = structuredClone((await withMap('value => value')).json) as unknown as {
    fields: { label: { map: { call: { module: string } } } }
  }
  feed.fields.label.map.call.module = 'file:///nowhere/gone.mjs'
  const first = using(feed as never, { workers: 1, allowCode: true }, loader =>
    loader[Symbol.asyncIterator]().next(),
  )
  const error = (await first.catch(error => error)) as Error
  expect(error.message).toMatch(
    /^file:\/\/\/nowhere\/gone\.mjs, the module of a function, can't be imported: Cannot find module '[^\n]*$/,
  )
})
