/**
 * Random chains of stops, kills and resumes, each on other ranks, workers and batch sizes. What one run without a stop delivers says
 * what stands where. Nothing is lost or comes twice under `keep` and `pad`; under `drop` an epoch is an exact prefix.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { start } from '../../packages/tools/test/prepare/helpers.js'
import { type AnyLoader, type FeedJson, type OpenOptions, open, type State } from '../support/engine.js'
import { temporaryFolder, writeFiles } from '../support/folder.js'
import { jpeg, writeShards } from '../support/pictures.js'
import { documentsOf, writeMegatron } from '../support/tokens.js'
import { until } from '../support/until.js'
import { pythonHas, RUNS, SEED } from './support.js'

const CHAINS = 100 * RUNS
const KILLED_CHAINS = 10 * RUNS
const EPOCHS = 3
const COUNT = 203

type Parts = Pick<FeedJson, 'source' | 'fields'>
type Last = 'keep' | 'pad' | 'drop'
type Take = (epoch: number, position: number, id: string) => void

const root = temporaryFolder()
const label: FeedJson['fields'] = { label: { from: 'cls', as: 'int' } }
const folders: Parts = { source: { folder: 'folder' }, fields: { label: { from: 'label', as: 'int' } } }
const shards: Parts = { source: { tar: 'a/train-{0000..0002}.tar' }, fields: label }
const other: Parts['source'] = { tar: 'b/train-{0000..0001}.tar' }
const SOURCES: Record<string, Parts> = {
  folder: folders,
  tar: shards,
  parquet: {
    source: { parquet: 't.parquet' },
    fields: { text: { from: 'text', as: 'text' }, x: { from: 'x', as: 'int' } },
  },
  blend: {
    source: {
      blend: {
        entries: [
          { name: 'a', weight: 3, source: shards.source },
          { name: 'b', weight: 1, source: other },
        ],
      },
    },
    fields: label,
  },
  tokens: {
    source: { tokens: { path: 'tokens.bin', length: 32 } },
    fields: ['input'] as unknown as FeedJson['fields'],
  },
}
const ORDERS: FeedJson['order'][] = [
  'none',
  { shuffle: 'global', seed: 5 },
  { shuffle: { window: 16 }, seed: 5 },
]

/** Numbers from a seed (mulberry32). */
function dice(seed: number) {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return { between, of: <T>(list: readonly T[]): T => list[between(0, list.length - 1)] }
}

/** What one run without a stop has at each position of each epoch. */
const oracles = new Map<string, Promise<string[][]>>()
function oracle(parts: Parts, order: FeedJson['order']): Promise<string[][]> {
  const key = JSON.stringify([parts, order])
  let found = oracles.get(key)
  if (found === undefined) {
    const expected = Array.from({ length: EPOCHS }, (): string[] => [])
    const json: FeedJson = { ...parts, order, batch: { size: 7, last: 'keep' } }
    found = (async () => {
      await hop(json, { workers: 0 }, Number.POSITIVE_INFINITY, (epoch, position, id) => {
        expect(expected[epoch]).toHaveLength(position)
        expected[epoch].push(id)
      })
      return expected
    })()
    oracles.set(key, found)
  }
  return found
}

/** Some steps of one rank, at most to the end of the last epoch. */
async function hop(json: FeedJson, options: OpenOptions, steps: number, take: Take): Promise<State> {
  const loader = open(json, { root, epochs: 1, notice: () => {}, ...options }) as AnyLoader
  try {
    await loader.ready
    let taken = 0
    while (taken < steps && loader.state().epoch < EPOCHS) {
      for await (const { epoch, ids, positions, valid } of loader) {
        const real = Array.from(positions).filter((_, i) => valid[i])
        expect(real).toHaveLength(ids.length)
        ids.forEach((id, i) => {
          take(epoch, real[i], id)
        })
        if (++taken === steps) break
      }
    }
    return JSON.parse(JSON.stringify(loader.state()))
  } finally {
    await loader.close()
  }
}

/** What a chain has delivered, compared with the oracle. */
class Seen {
  private readonly epochs = Array.from({ length: EPOCHS }, () => new Set<number>())

  constructor(private readonly expected: readonly string[][]) {}

  readonly take: Take = (epoch, position, id) => {
    if (this.expected[epoch][position] !== id)
      throw new Error(`epoch ${epoch}, position ${position}: ${id}, not ${this.expected[epoch][position]}`)
    if (this.epochs[epoch].has(position)) throw new Error(`epoch ${epoch}: position ${position} came twice`)
    this.epochs[epoch].add(position)
  }

  /** At the end of an epoch a drop loses less than a step, which has at most `most` rows. */
  check(last: Last, most: number): void {
    this.epochs.forEach((seen, epoch) => {
      const all = this.expected[epoch].length
      const lost = last === 'drop' ? most - 1 : 0
      if (seen.size < all - lost) throw new Error(`epoch ${epoch}: ${all - seen.size} of ${all} are lost`)
      for (let at = 0; at < seen.size; at++) {
        if (!seen.has(at)) throw new Error(`epoch ${epoch}: position ${at} is lost, ${seen.size} came`)
      }
    })
  }
}

const parquetThere = pythonHas(['pyarrow'], 'Chains over Parquet')

describe('random chains', () => {
  beforeAll(() => {
    process.env.MILLRACE_CACHE = join(root, 'cache')
    const sample = (i: number) => [
      { name: `${i}.txt`, data: `text ${i}` },
      { name: `${i}.cls`, data: String(i) },
    ]
    writeShards(join(root, 'a'), COUNT, 3, sample)
    writeShards(join(root, 'b'), COUNT / 2, 2, sample)
    writeFiles(
      root,
      Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`folder/${i % 3}/${i}.jpg`, jpeg(i, 8)])),
    )
    writeMegatron(root, 'tokens', documentsOf(Array.from({ length: 150 }, (_, i) => 5 + ((i * 37) % 90))))
    if (!parquetThere) {
      delete SOURCES.parquet
      return
    }
    const code = `import pyarrow as pa, pyarrow.parquet as pq
n = ${COUNT}
pq.write_table(pa.table({"x": range(n), "text": [f"row {i}" for i in range(n)]}), "t.parquet", row_group_size=20)`
    const made = spawnSync('python3', ['-c', code], { cwd: root, encoding: 'utf8' })
    expect(made.status, made.stderr).toBe(0)
  })

  test('of stops', async () => {
    for (let chain = 0; chain < CHAINS; chain++) {
      const seed = SEED + chain
      const { of, between } = dice(seed)
      const [name, last] = [of(Object.keys(SOURCES)), of<Last>(['keep', 'pad', 'drop'])]
      const [parts, order] = [SOURCES[name], of(ORDERS)]
      const reported = [`seed ${seed}: ${name}, ${last}, ${JSON.stringify(order)}`]
      try {
        const seen = new Seen(await oracle(parts, order))
        let state: State | undefined
        let most = 1
        while ((state?.epoch ?? 0) < EPOCHS) {
          const [world, size, steps] = [between(1, 4), between(1, 12), between(1, 20)]
          reported.push(`${steps} steps of ${world} × ${size}`)
          most = Math.max(most, world * size)
          const states = []
          for (let rank = 0; rank < world; rank++) {
            const options = { rank, world, workers: between(0, 3), depth: between(1, 5), state }
            states.push(await hop({ ...parts, order, batch: { size, last } }, options, steps, seen.take))
          }
          for (const one of states) expect(one).toEqual(states[0])
          state = states[0]
        }
        seen.check(last, most)
      } catch (error) {
        throw new Error(`${reported.join('; ')}: ${(error as Error).message}`, { cause: error })
      }
    }
  })

  test('of kill -9', async () => {
    for (let chain = 0; chain < KILLED_CHAINS; chain++) {
      const seed = SEED + chain
      const { of, between } = dice(1e6 + seed)
      const [name, last] = [of(Object.keys(SOURCES)), of<Last>(['keep', 'pad'])]
      const [parts, order] = [SOURCES[name], of(ORDERS)]
      const reported = [`seed ${seed}: ${name}, ${last}, ${JSON.stringify(order)}`]
      try {
        const seen = new Seen(await oracle(parts, order))
        let state: State | undefined
        for (let kill = between(1, 4); kill > 0; kill--) {
          const [world, size] = [between(1, 3), between(1, 12)]
          reported.push(`killed on ${world} × ${size}`)
          state = await killed({ ...parts, order, batch: { size, last } }, world, between(1, 15), state, seen)
        }
        const options = { workers: 2, state }
        await hop({ ...parts, order, batch: { size: 5, last } }, options, Number.POSITIVE_INFINITY, seen.take)
        seen.check(last, 1)
      } catch (error) {
        throw new Error(`${reported.join('; ')}: ${(error as Error).message}`, { cause: error })
      }
    }
  })
})

let runs = 0

/** Kills all ranks of a run in the middle; what their common state covers counts. */
async function killed(
  json: FeedJson,
  world: number,
  steps: number,
  state: State | undefined,
  seen: Seen,
): Promise<State> {
  const names = Array.from({ length: world }, (_, rank) => `run-${runs}-${rank}`)
  writeFiles(root, { [`run-${runs}.json`]: JSON.stringify(json), 'from.state': JSON.stringify(state ?? {}) })
  const running = names.map((name, rank) =>
    start([
      ...['run', join(root, `run-${runs}.json`), '--rank', String(rank), '--world', String(world)],
      ...['--ids', join(root, `${name}.ids`), '--save', join(root, `${name}.state`), '--epochs', '100'],
      ...['--step-ms', '5', '--workers', String(1 + (rank % 2))],
      ...(state === undefined ? [] : ['--resume', join(root, 'from.state')]),
    ]),
  )
  runs++
  const lines = (name: string): { epoch: number; position: number; ids: string[] }[] => {
    try {
      const whole = readFileSync(join(root, `${name}.ids`), 'utf8')
        .split('\n')
        .filter(line => line.endsWith('}'))
      return whole.map(line => JSON.parse(line))
    } catch {
      return [] // not yet written
    }
  }
  await until(() =>
    names.every((name, i) => lines(name).length >= steps || running[i].child.exitCode !== null),
  )
  for (const { child } of running) child.kill('SIGKILL')
  for (const { ended } of running) expect((await ended).signal).toBe('SIGKILL')
  const states: State[] = names.map(name => JSON.parse(readFileSync(join(root, `${name}.state`), 'utf8')))
  const before = (a: { epoch: number; position: number }, b: typeof a) =>
    a.epoch < b.epoch || (a.epoch === b.epoch && a.position < b.position)
  const least = states.reduce((a, b) => (before(b, a) ? b : a))
  // The ranks of a step take runs of positions, one after the other.
  const at = new Map<string, number>()
  for (const name of names) {
    for (const { epoch, position, ids } of lines(name)) {
      if (epoch >= EPOCHS || !before({ epoch, position }, least)) continue
      const step = `${epoch} ${position}`
      for (const id of ids) {
        const next = at.get(step) ?? position
        seen.take(epoch, next, id)
        at.set(step, next + 1)
      }
    }
  }
  return least
}
