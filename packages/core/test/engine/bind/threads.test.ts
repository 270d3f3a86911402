/** Real threads on real cores: what /proc says of each, while feeds come, workers change, die and go. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type AnyLoader,
  feedingOf,
  feedModule,
  loopIds,
  numberFeed,
  type OpenOptions,
  open,
  using,
} from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { PythonModule, withoutPython, withPython } from '../../../../../test/support/python.js'
import { until } from '../../../../../test/support/until.js'
import { showCores } from '../../../system/process/core-list.js'
import { allowedCores } from '../../../system/process/topology.js'

const allowed = allowedCores()
const all = showCores(allowed)
const [first, last] = [allowed[0], allowed.at(-1)!]

interface Thread {
  id: number
  name: string
  cores: string
}

function threadsOf(pid: number | 'self' = 'self'): Thread[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(id => {
    try {
      const status = readFileSync(`/proc/${pid}/task/${id}/status`, 'latin1')
      const word = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)![1]
      return [{ id: Number(id), name: word('Name'), cores: word('Cpus_allowed_list') }]
    } catch {
      return [] // it has just ended
    }
  })
}

const isMaker = ({ name }: Thread): boolean => name.startsWith('millrace w')

/** The cores of workers, by their numbers. */
function makers(): string[] {
  const found: string[] = []
  for (const thread of threadsOf().filter(isMaker)) found[Number(thread.name.slice(10))] = thread.cores
  return found
}

/** The cores of all threads but workers: those of the trainer, of Node and of libraries. */
const others = (): string[] => [
  ...new Set(
    threadsOf()
      .filter(thread => !isMaker(thread))
      .map(({ cores }) => cores),
  ),
]

/** Workers take up what they are told between two claims. */
const become = (...cores: string[]): Promise<void> =>
  until(() => String(makers()) === String(cores), `workers are at ${cores}, and were at ${makers()}`)

const notices = (options: OpenOptions): [string[], OpenOptions] => {
  const said: string[] = []
  return [said, { ...options, notice: text => said.push(text) }]
}

describe.skipIf(process.platform !== 'linux' || allowed.length < 2)('workers', () => {
  test('run on the cores of a list, one each, and nothing else does', async () => {
    await using(numberFeed(64), { workers: 2, affinity: [last, first] }, async loader => {
      await loopIds(loader)
      await become(`${last}`, `${first}`)
      expect(others()).toEqual([all])
    })
    // The threads wait for the next feed, and are as they were.
    await become(all, all)
  })

  test('share a list that has fewer cores', async () => {
    await using(numberFeed(64), { workers: 3, affinity: `${last}` }, async loader => {
      await loopIds(loader)
      await become(`${last}`, `${last}`, `${last}`)
    })
  })

  test('are left alone by default, and by "off"', async () => {
    for (const affinity of [undefined, 'off'])
      await using(numberFeed(64), { workers: 2, affinity }, async loader => {
        await loopIds(loader)
        // Those of the feed before take that up between two claims.
        await until(() => makers().length >= 2 && makers().every(cores => cores === all))
      })
  })

  test('leave a core to the trainer with "auto"', async () => {
    await using(numberFeed(64), { workers: 1, affinity: 'auto' }, async loader => {
      await loopIds(loader)
      const { pool } = feedingOf(loader)
      const { places, kept } = pool!.binder.state
      expect(kept.length).toBeGreaterThan(0)
      expect(kept).not.toContain(places[0][0])
      await until(() => makers()[0] === String(places[0][0]))
      expect(others()).toEqual([all])
    })
  })

  test('keep their places when their number changes', async () => {
    await using(numberFeed(10_000), { workers: 1, affinity: [first, last] }, async loader => {
      await loader.ready
      await until(() => makers()[0] === `${first}`)
      await loader.tune({ workers: 2 })
      await until(() => makers()[0] === `${first}` && makers()[1] === `${last}`)
      await loader.tune({ workers: 3 })
      const both = showCores([first, last])
      await become(both, both, both)
      await loader.tune({ workers: 2 })
      await until(() => makers()[0] === `${first}` && makers()[1] === `${last}`)
    })
  })

  test('that die are replaced at the same place', async () => {
    const folder = temporaryFolder()
    const feed = await feedModule(
      folder,
      'deadly.feed.mjs',
      `import { existsSync, writeFileSync } from 'node:fs'
      const first = value => {
        const file = ${JSON.stringify(join(folder, 'died-'))} + value
        if (existsSync(file)) return false
        writeFileSync(file, '')
        return true
      }
      export default feed({ source: synthetic({ count: 48, images: { width: 8, height: 8, classes: 48 } }),
        fields: { label: int('cls').map(value => { if (value % 9 === 4 && first(value)) process.exit(3); return value }) },
        batch: { size: 8, last: 'keep' } })`,
    )
    await using(feed, { workers: 2, affinity: [first, last] }, async loader => {
      const before = threadsOf().filter(isMaker)
      expect((await loopIds(loader)).flat().length).toBe(48)
      await become(`${first}`, `${last}`)
      expect(threadsOf().filter(isMaker)).not.toEqual(before)
      expect(readdirSync(folder).filter(name => name.startsWith('died-')).length).toBe(5)
    })
  })

  test('can be bound and let go while they run', async () => {
    await using(numberFeed(10_000), { workers: 2 }, async loader => {
      await loader.ready
      const { binder } = feedingOf(loader).pool!
      for (let turn = 0; turn < 3; turn++) {
        await binder.bind([first])
        await become(`${first}`, `${first}`)
        expect(binder.state.binding).toEqual([first])
        await binder.bind('off')
        await become(all, all)
      }
      await binder.bind([last])
      await binder.bind(undefined)
      await become(all, all)
    })
  })

  test('that are being tried out are let go with the last feed', async () => {
    await using(numberFeed(64), { workers: 2 }, async loader => {
      await loader.ready
      await feedingOf(loader).pool!.binder.bind([first])
    })
    await using(numberFeed(64), { workers: 2 }, async loader => {
      await loopIds(loader)
      await become(all, all)
    })
  })

  test('of two feeds are bound as the first asks; the second is told, and has its turn', async () => {
    const one = open(numberFeed(10_000), { workers: 2, affinity: [first] }) as AnyLoader
    await one.ready
    const [said, options] = notices({ workers: 2, affinity: `${last}` })
    const two = open(numberFeed(10_000), options) as AnyLoader
    await two.ready
    expect(said.join()).toMatch(
      new RegExp(`^affinity "${last}" has no effect: all feeds of a process share its workers.*"${first}"`),
    )
    await become(`${first}`, `${first}`)
    await one.close()
    await become(`${last}`, `${last}`)
    await two.close()
    await become(all, all)
  })

  test('of a second feed that says nothing, or the same, are no matter for a notice', async () => {
    await using(numberFeed(64), { workers: 2, affinity: [first] }, async one => {
      await one.ready
      for (const affinity of [undefined, `${first}`]) {
        const [said, options] = notices({ workers: 2, affinity })
        await using(numberFeed(64), options, async two => void (await two.ready))
        expect(said).toEqual([])
      }
    })
  })

  test('of which there are none can’t be bound, and that is said', async () => {
    const [said, options] = notices({ workers: 0, affinity: 'auto' })
    await using(numberFeed(8), options, async loader => void (await loopIds(loader)))
    expect(said).toEqual(['affinity has no effect: with workers: 0 there are none to bind'])
  })

  test('don’t bind the threads of libvips, which outlive them', async () => {
    const webp = {
      source: { files: join(import.meta.dirname, '../../../../../test/golden/images/*.webp') },
      fields: {
        image: { from: 'webp', as: 'image' as const, apply: [{ resize: [8, 8] as [number, number] }] },
      },
      batch: { size: 1 },
    }
    await using(webp, { workers: 2, affinity: [last] }, async loader => {
      expect((await loopIds(loader)).flat().length).toBe(4)
      expect(others()).toEqual([all])
    })
    expect(others()).toEqual([all])
  })

  test.skipIf(withoutPython)('don’t bind the Python processes that they drive', async () => {
    const module = new PythonModule(
      'import os\nclass Cores:\n    def __len__(self): return 8\n' +
        '    def __getitem__(self, i): return {"cores": len(os.sched_getaffinity(0))}',
    )
    const feed = {
      source: module.dataset('Cores()', 8),
      fields: { cores: { from: 'cores', as: 'int' as const } },
      batch: { size: 8 },
    }
    await using(feed, { workers: 1, affinity: [first], ...withPython }, async loader => {
      for await (const batch of loader)
        expect(new Set(batch.cores as BigInt64Array)).toEqual(new Set([BigInt(allowed.length)]))
    })
  })
})
