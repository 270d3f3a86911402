/** The budget: what a feed would take is known before it starts, and too much is refused with the ways out. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  engine,
  type FeedJson,
  loopIds,
  numberFeed,
  type OpenOptions,
  using,
} from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { programs } from '../../../../test/support/program.js'
import type { SlotLayout } from '../../batch/layout.js'
import { preflight } from '../../engine/plan/budget.js'
import { filesAWorker, OTHER_FILES } from '../../system/process/limits.js'

const pictures = (side: number, batch: number): FeedJson => ({
  source: { synthetic: { count: 4096, images: { width: 8, height: 8 } } },
  fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [side, side] }], dtype: 'f32' } },
  batch,
})

const refusal = (json: FeedJson, options: OpenOptions) =>
  using(json, options, loader => loader.ready).then(
    () => 'accepted',
    error => {
      expect(error).toBeInstanceOf(engine.BudgetError)
      return (error as Error).message
    },
  )

describe('too much is refused', () => {
  test('a batch larger than a slot can be', async () => {
    expect(await refusal(pictures(1024, 4096), { workers: 1 })).toMatch(
      /4096 rows takes 48\.0 GiB.*2 GiB a slot.*"image".*lower batch\.size or its dtype/,
    )
  })

  test('more slots than a ring can address, with the depth that would do', async () => {
    expect(await refusal(pictures(512, 512), { workers: 1, depth: 8 })).toMatch(
      /8 slots of 1,537 MiB.*3,840 MiB: lower the depth to 2, or the batch size/,
    )
  })

  test('slots that nobody asked for don’t count: they are laid out as far as they fit', () => {
    const layout = { bytes: 1200 * 2 ** 20 } as SlotLayout
    const wanted = { layout, workers: 1, cacheBytes: 0, indexBytes: 0, scratchBytes: 2 ** 29 }
    expect(preflight({ ...wanted, depth: 1 }).mostSlots).toBe(3)
    expect(() => preflight({ ...wanted, depth: 4 })).toThrow(/lower the depth to 3/)
  })

  test('more memory than there is, with the limit by its name', async () => {
    const { code, stdout } = await programs(temporaryFolder()).run(
      `const feed_ = ${JSON.stringify(pictures(512, 256))}
      const loader = open(feed_, { workers: 200, depth: 4, cache: 2 ** 40 })
      await loader.ready.then(() => console.log('accepted'), error => console.log(error.name, error.message))
      await loader.close()`,
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/BudgetError .*200 (workers|workspaces).*(lower|raise)/)
  })
})

test('more files than may be open: as many as workers really keep open', () => {
  const cli = join(import.meta.dirname, '../../../../dist/cli/main.js')
  const run = (limit: number, workers: number) => {
    const words = ['run', JSON.stringify(numberFeed(8)), '--workers', `${workers}`]
    const limited = ['-c', `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, cli, ...words]
    return spawnSync('bash', limited, { encoding: 'utf8' })
  }
  const needed = OTHER_FILES + 2 * filesAWorker(256)
  expect(run(needed - 1, 2).stderr).toContain(
    `2 workers need ${needed} open files, but the limit is ${needed - 1}`,
  )
  expect(run(needed, 2).status).toBe(0)
})

test('a refused feed leaves nothing open', async () => {
  await using(numberFeed(8), { workers: 0 }, loader => loopIds(loader))
  const before = readdirSync('/proc/self/fd').length
  for (let i = 0; i < 5; i++) await refusal(pictures(512, 512), { workers: 1, depth: 8 })
  for (let i = 0; i < 5; i++) await using(numberFeed(8), { workers: 0 }, loader => loopIds(loader))
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 1)
})

test('what was reserved is reported', async () => {
  await using(numberFeed(64, { batch: 8 }), { workers: 1, depth: 3 }, async loader => {
    await loader.ready
    const { slotBytes, budgetBytes, depth } = loader.stats()
    expect(slotBytes % 65536).toBe(0)
    expect(budgetBytes).toBeGreaterThan(slotBytes * depth)
  })
})

test('nor does one that fails after its memory was laid out', async () => {
  const map = { call: { module: '/nowhere.mjs', path: 'fields.number.map', hash: '0'.repeat(16) } }
  const mapped = numberFeed(8)
  Object.assign(mapped.fields.number, { map })
  const rings = (): number =>
    readdirSync('/proc/self/fd').filter(fd => {
      const path = `/proc/self/fd/${fd}`
      return existsSync(path) && readlinkSync(path).includes('memfd:millrace')
    }).length
  const before = rings()
  await expect(using(mapped, { workers: 0, allowCode: true }, loader => loader.ready)).rejects.toThrow(
    /nowhere/,
  )
  expect(rings()).toBe(before)
})
