/** `drop` and `mask` are for bad samples: they never hide a mistake in the definition or the installation. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { engine, type FeedJson, feedModule, using } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { programs } from '../../../../../test/support/program.js'
import { tarFile } from '../../../../../test/support/tar.js'
import type { BadReport } from '../../../engine/plan/job.js'

const root = temporaryFolder()
const POLICIES = ['drop', 'mask'] as const

/** A shard of numbers; those that `bad` names are none. */
function shard(name: string, count: number, bad: (i: number) => string | undefined = () => undefined): void {
  const entries = Array.from({ length: count }, (_, i) => [
    { name: `${i}.cls`, data: bad(i) ?? String(i) },
    ...(i % 2 === 0 ? [{ name: `${i}.even`, data: '1' }] : []),
  ])
  writeFileSync(join(root, name), tarFile(entries.flat()))
}

const feed = (
  source: FeedJson['source'],
  policy: 'drop' | 'mask',
  rest: Partial<FeedJson> = {},
): FeedJson => ({
  source,
  fields: { label: { from: 'cls', as: 'int' } },
  batch: { size: 4, last: 'keep' },
  onError: { policy, budget: 100_000 },
  ...rest,
})

/** How many steps were made, and the error that ended the run. */
async function run(json: Parameters<typeof using>[0], workers = 1): Promise<[number, Error | undefined]> {
  let steps = 0
  try {
    await using(json, { root, workers }, async loader => {
      for await (const _ of loader) steps++
    })
  } catch (error) {
    return [steps, error as Error]
  }
  return [steps, undefined]
}

describe.each(POLICIES)('%s', policy => {
  test('a column that no sample has is refused when the feed is opened', async () => {
    shard('plain.tar', 40)
    for (const workers of [0, 1]) {
      const [steps, error] = await run(
        feed({ tar: 'plain.tar' }, policy, { fields: { label: { from: 'klass|clss', as: 'int' } } }),
        workers,
      )
      expect(steps).toBe(0)
      expect(error).toBeInstanceOf(engine.DefinitionError)
      expect(error?.message).toMatch(
        /^fields\.label\.from: the source has no column "klass" or "clss"; it has .*did you mean "cls"/,
      )
    }
  })

  test('one that some samples lack is what bad samples are', async () => {
    shard('plain.tar', 40)
    const json = feed({ tar: 'plain.tar' }, policy, { fields: { label: { from: 'even', as: 'int' } } })
    await using(json, { root, workers: 1 }, async loader => {
      let valid = 0
      for await (const batch of loader) valid += batch.valid.reduce((sum, one) => sum + one, 0)
      expect([valid, loader.stats().bad.count]).toEqual([20, 20])
    })
  })

  test('the same in a source of a blend: it would be dropped as a whole', async () => {
    shard('plain.tar', 40)
    writeFileSync(join(root, 'other.tar'), tarFile([{ name: '1.klass', data: '1' }]))
    const entries = ['plain.tar', 'other.tar'].map(tar => ({ source: { tar }, weight: 1, name: tar }))
    const [, error] = await run(feed({ blend: { entries } }, policy))
    expect(error).toBeInstanceOf(engine.DefinitionError)
    expect(error?.message).toMatch(/other\.tar.*no column "cls"/)
  })

  test('the same in a part of a concat, and in one that a subset is taken of', async () => {
    shard('plain.tar', 40)
    writeFileSync(join(root, 'other.tar'), tarFile([{ name: '1.klass', data: '1' }]))
    const concat = ['plain.tar', 'other.tar'].map(tar => ({ tar }))
    for (const source of [
      { concat },
      { subset: { source: { concat }, range: [30, 41] as [number, number] } },
    ]) {
      const [, error] = await run(feed(source, policy))
      expect(error).toBeInstanceOf(engine.DefinitionError)
      expect(error?.message).toMatch(/1\/other\.tar.*no column "cls"/)
    }
    const even = feed({ concat: [{ tar: 'plain.tar' }, { tar: 'plain.tar' }] }, policy, {
      fields: { label: { from: 'even', as: 'int' } },
    })
    expect((await run(even))[1]).toBeUndefined()
  })

  test('where a source does not know its columns, all samples of the first batch tell', async () => {
    writeFiles(root, Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`files/${i}.txt`, `${i}`])))
    const [steps, error] = await run(feed({ files: 'files/*.txt' }, policy))
    expect(steps).toBe(0)
    expect(error).toBeInstanceOf(engine.DefinitionError)
    expect(error?.message).toMatch(/no sample can be made: 4 × read of field "label" failed: .*"cls"/)
  })

  test('a function that throws for every sample ends the run at its first batch', async () => {
    shard('plain.tar', 40)
    const json = await feedModule(
      root,
      `throws-${policy}.feed.mjs`,
      `export default feed({
        source: tar('plain.tar'), order: 'none', batch: { size: 4, last: 'keep' },
        fields: { label: int('cls').map(value => value.length.size) },
        onError: { policy: '${policy}', budget: 1000 },
      })`,
    )
    const [steps, error] = await run(json)
    expect(steps).toBe(0)
    expect(error).toBeInstanceOf(engine.DefinitionError)
    expect(error?.message).toMatch(/your code fails for every sample: 4 × map of field "label" failed/)
  })

  test('a function that throws for some samples drops those', async () => {
    shard('plain.tar', 40)
    const json = await feedModule(
      root,
      `some-${policy}.feed.mjs`,
      `export default feed({
        source: tar('plain.tar'), order: 'none', batch: { size: 4, last: 'keep' },
        fields: { label: int('cls').map(value => { if (value % 4 < 3) throw new Error('odd one'); return value }) },
        onError: { policy: '${policy}', budget: 1000 },
      })`,
    )
    expect(await run(json)).toEqual([10, undefined])
  })

  test('more than half of the first thousand: the causes are counted', async () => {
    shard('mostly.tar', 1200, i => (i % 10 < 4 ? undefined : i % 10 === 9 ? '9'.repeat(30) : 'n/a'))
    const [steps, error] = await run(
      feed({ tar: 'mostly.tar' }, policy, { batch: { size: 50, last: 'keep' } }),
    )
    // The 501st bad one is among the first 840.
    expect(steps).toBe(16)
    expect(error?.message).toMatch(/^510 of the first 850 samples are bad: that is more than half/)
    expect(error?.message).toMatch(
      /425 × decode of field "label" failed: "n\/a" is not an integer.*\(mostly\.tar:4, /,
    )
    expect(error?.message).toMatch(/85 × decode of field "label" failed/)
  })

  test('a smaller set is judged when its first epoch ends, and a handful never is', async () => {
    shard('small.tar', 120, i => (i % 10 < 4 ? undefined : 'n/a'))
    const [steps, error] = await run(feed({ tar: 'small.tar' }, policy))
    expect(steps).toBe(29)
    expect(error?.message).toMatch(/^72 of the first 120 samples are bad/)
    shard('half.tar', 120, i => (i % 2 === 0 ? undefined : 'n/a'))
    expect(await run(feed({ tar: 'half.tar' }, policy))).toEqual([30, undefined])
    shard('handful.tar', 4, i => (i === 0 ? undefined : 'n/a'))
    expect(await run(feed({ tar: 'handful.tar' }, policy))).toEqual([1, undefined])
  })
})

test('a decoder that is not installed ends the run at its first batch, with what to install', async () => {
  const { run } = programs(root)
  const picture = fileURLToPath(new URL('../../../../../test/golden/images/alpha.webp', import.meta.url))
  writeFiles(root, Object.fromEntries([0, 1, 2, 3].map(i => [`webp/${i}.webp`, readFileSync(picture)])))
  const { stdout } = await run(
    `const loader = open({ source: { files: 'webp/*.webp' }, batch: { size: 2, last: 'keep' }, onError: 'drop',
      fields: { image: { from: 'webp', as: 'image', apply: [{ resize: [8, 8] }] } } }, { workers: 1 })
    try { for await (const batch of loader) console.log(batch.count) }
    catch (error) { console.log(error.tag, error.message) }
    await loader.close()`,
    [],
    { MILLRACE_VIPS: join(root, 'no such library') },
  )
  expect(stdout).toMatch(
    /^Missing sample 0\.webp .*need libvips, which was not found: run "npm install sharp/,
  )
})

test('bad samples are told when they are first seen, not in every epoch', async () => {
  const { Judge } = await import('../../../deliver/node/judge.js')
  const judge = new Judge({ policy: 'drop', budget: 100 }, 10)
  const bad = (id: string) => {
    const where = { id, stage: 'decode' } as BadReport['where']
    return { ring: 0, generation: 0, batch: 0, row: 5, where, problem: 'no picture' }
  }
  judge.batch([bad('a')], 10)
  expect(judge.epochEnds(0)).toBe('epoch 0: 1 bad sample dropped: a')
  judge.batch([bad('a')], 10)
  expect(judge.epochEnds(1)).toBeUndefined()
  judge.batch([bad('a'), bad('b')], 10)
  expect(judge.epochEnds(2)).toBe('epoch 2: 2 bad samples dropped: a, b')
  expect(judge.count).toBe(2)
})

test('what is not installed is no bad sample', async () => {
  const { describeBad, FieldFailure } = await import('../../../engine/make/failures.js')
  const { Judge } = await import('../../../deliver/node/judge.js')
  const { DecodeError, MissingError } = await import('../../../basics/errors.js')
  const source = { id: (row: number) => `sample ${row}` } as Parameters<typeof describeBad>[0]
  const missing = new MissingError('npm install sharp')
  for (const cause of [missing, new DecodeError('no picture', { cause: missing })]) {
    const bad = describeBad(source, 7, new FieldFailure('image', cause), [])
    expect(bad.mistake).toBe('Missing')
    const report: BadReport = { ring: 0, generation: 0, batch: 0, row: 0, ...bad }
    const judge = new Judge({ policy: 'drop', budget: 100 }, 1000)
    expect(() => judge.batch([report], 8)).toThrow(MissingError)
  }
})
