/** What `open` says of options and feeds that can't be meant. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { rankOf } from '../../deliver/launcher.js'
import { open } from '../../deliver/node/open.js'
import { fillOptions, type OpenOptions } from '../../deliver/options.js'

describe('an option', () => {
  it.each([
    [{ depth: '4' }, 'options.depth: expected a whole number from 1 to 32, found "4"'],
    [{ workers: 'many' }, 'options.workers: expected a whole number from 0 to 256, or "auto", found "many"'],
    [{ timeout: 0 }, 'options.timeout: expected seconds, more than 0, found 0'],
    [{ timeout: '60' }, 'options.timeout: expected seconds, more than 0, found "60"'],
  ])('%j is refused', (options, message) => {
    expect(() => fillOptions(options as OpenOptions)).toThrow(message)
  })

  it.each([
    [{ wrokers: 2 }, 'options.wrokers: unknown option "wrokers"; did you mean "workers"?'],
    [{ prefetch: 2 }, /^options\.prefetch: unknown option "prefetch"; known: workers, affinity, depth, /],
  ])('%j is not one', (options, message) => {
    const feed = { source: { synthetic: { count: 8 } }, fields: { x: { from: 'cls', as: 'int' } }, batch: 4 }
    expect(() => open(feed as never, options as OpenOptions)).toThrow(message)
  })

  it('that is gone is told in a notice, and has no effect', async () => {
    const source = { synthetic: { count: 8, tensors: { shape: [2], dtype: 'f32' } } }
    const feed = { source, fields: { x: { from: 'data', as: 'npy', shape: [2], dtype: 'f32' } }, batch: 4 }
    const notices: string[] = []
    const gone = { alerts: ['lost>5%'], maxDepth: 4, nvcomp: true, cpuShare: 7 }
    const options = { ...gone, workers: 0, notice: (text: string) => notices.push(text) }
    await open(feed as never, options as OpenOptions).close()
    expect(notices[0]).toMatch(/^alerts has no effect any more: let Prometheus watch/)
    expect(notices.map(text => text.split(' has no effect any more: ')[0])).toEqual(Object.keys(gone))
  })

  it('of rank and world, each needs the other', () => {
    expect(() => fillOptions({ rank: 1 })).toThrow('world: rank 1 of how many? Give world as well')
    expect(() => fillOptions({ world: 4 })).toThrow('rank: which one of world 4? Give rank as well')
  })

  it('may be left undefined', () => {
    expect(fillOptions({ workers: undefined, timeout: undefined, steps: undefined }).timeout).toBe(60)
  })
})

describe('a launcher', () => {
  it.each([
    [{ RANK: '1', WORLD_SIZE: '4' }, 1, 4],
    [{ SLURM_PROCID: '3', SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '8', SLURM_NTASKS: '16' }, 3, 8],
    [{ SLURM_PROCID: '0', SLURM_NTASKS: '4', SLURM_JOB_ID: '7' }, 0, 1], // a script of sbatch, without srun
    [{ WORLD_SIZE: '2', OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '2' }, 1, 2],
  ])('that tells %j', (env, rank, world) => {
    expect(rankOf({}, env)).toMatchObject({ rank, world })
  })

  it('that tells how many ranks there are has to tell which this is', () => {
    expect(() => rankOf({}, { WORLD_SIZE: '2', LOCAL_RANK: '1' })).toThrow('WORLD_SIZE=2 says that there are')
    expect(rankOf({ rank: 1, world: 2 }, { WORLD_SIZE: '4' })).toMatchObject({ rank: 1, world: 2 })
  })
})

it.each(['cats.json', undefined, null, []])('%j is no feed', feed => {
  expect(() => open(feed as never)).toThrow(/^open takes a feed, made by feed\(\{ … \}\).*, not /)
})

it('without `notice` a program is told by a warning what was left out', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'cat'))
  for (const path of ['cat/1.jpg', 'outside.jpg']) writeFileSync(join(root, path), jpeg(1, 16, 16))
  const said: string[] = []
  const listen = (warning: Error): void => void said.push(`${warning.name}: ${warning.message}`)
  process.on('warning', listen)
  try {
    const fields = { image: { from: 'image', as: 'image' as const, apply: [{ centerCrop: 8 }] } }
    const loader = open({ source: { folder: root }, fields, batch: 1 }, { workers: 0 })
    for await (const batch of loader) expect(batch.count).toBe(1)
    await loader.close()
    await new Promise(resolve => setImmediate(resolve))
  } finally {
    process.off('warning', listen)
  }
  expect(said.filter(text => /^MillraceNotice: .*outside\.jpg/.test(text))).toHaveLength(1)
})
