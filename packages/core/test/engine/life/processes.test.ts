/** Real processes: killed in the middle, interrupted, abandoned; resumed on other ranks, and nothing left behind. */
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { feedModule } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { jpeg, writeShards } from '../../../../../test/support/pictures.js'
import { until } from '../../../../../test/support/until.js'
import { millrace, start } from '../../../../tools/test/prepare/helpers.js'

const COUNT = 600
let root: string
let feed: string
beforeAll(() => {
  root = temporaryFolder()
  writeShards(join(root, 'data'), COUNT, 3, i => [
    { name: `${i}.jpg`, data: jpeg(i, 16) },
    { name: `${i}.cls`, data: String(i) },
  ])
  feed = join(root, 'feed.json')
  writeFiles(root, {
    'feed.json': JSON.stringify({
      source: { tar: 'data/train-{0000..0002}.tar' },
      order: { shuffle: 'global', seed: 1 },
      fields: {
        image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: 8 }] },
        label: { from: 'cls', as: 'int' },
      },
      batch: { global: 12, last: 'keep' },
    }),
  })
})

interface Line {
  epoch: number
  step: number
  rank: number
  position: number
  ids: string[]
}

const linesOf = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.endsWith('}'))
    .map(line => JSON.parse(line))

/** Waits until a file has grown beyond a number of lines. */
const grown = (file: string, lines: number): Promise<void> =>
  until(() => existsSync(file) && linesOf(file).length >= lines, `${file} has ${lines} lines`)

/** What a process of this feed leaves behind besides what was there: names of files. */
function leftovers(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter(name => statSync(join(folder, name)).isFile())
}

/** Processes whose command line has the given word. */
function processesWith(word: string): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
      } catch {
        return false
      }
    })
}

const shm = () =>
  existsSync('/dev/shm') ? readdirSync('/dev/shm').filter(name => /millrace/i.test(name)) : []

/** The lines of each log that the common state covers. */
const kept = new Map<string, Line[]>()
const after = (a: { epoch: number; position: number }, b: { epoch: number; position: number }) =>
  a.epoch > b.epoch || (a.epoch === b.epoch && a.position > b.position)
function cut(log: string, state: { epoch: number; position: number }): void {
  const lines = linesOf(log).filter(line => line.epoch < state.epoch || line.position < state.position)
  kept.set(log, lines)
}

test('killed in the middle and resumed on three ranks, then on two: each id once, each step the same set', async () => {
  const whole = join(root, 'whole.jsonl')
  expect((await millrace('run', feed, '--ids', whole, '--workers', '2')).code).toBe(0)
  const expected = linesOf(whole).map(line => [...line.ids].sort())
  expect(expected.flat()).toHaveLength(COUNT)

  const temporary = temporaryFolder()
  const out = join(root, 'parts')
  mkdirSync(out)
  let state: string | undefined
  const logs: string[] = []
  for (const [part, world] of [1, 3, 2].entries()) {
    const names = Array.from({ length: world }, (_, rank) => join(out, `${part}-${rank}`))
    const running = names.map((name, rank) =>
      start(
        [
          ...[
            'run',
            feed,
            '--ids',
            `${name}.jsonl`,
            '--save',
            `${name}.state`,
            '--workers',
            String(1 + (part % 2)),
          ],
          ...[
            '--rank',
            String(rank),
            '--world',
            String(world),
            '--step-ms',
            '15',
            '--depth',
            String(2 + part),
          ],
          ...(state === undefined ? [] : ['--resume', state]),
        ],
        { env: { TMPDIR: temporary } },
      ),
    )
    logs.push(...names.map(name => `${name}.jsonl`))
    if (part < 2) {
      await Promise.all(names.map(name => grown(`${name}.jsonl`, 8)))
      for (const { child } of running) child.kill('SIGKILL')
      await Promise.all(running.map(({ ended }) => ended))
    } else {
      for (const { ended } of running) expect(await ended).toMatchObject({ code: 0 })
    }
    // A trainer checkpoints all ranks at one step: here, the least that any of them has saved.
    const states = names.map(name => JSON.parse(readFileSync(`${name}.state`, 'utf8')))
    const least = states.reduce((a, b) => (after(b, a) ? a : b))
    state = `${names[states.indexOf(least)]}.state`
    for (const name of names) cut(`${name}.jsonl`, least)
  }
  const steps = new Map<number, string[]>()
  for (const line of logs.flatMap(log => kept.get(log) ?? [])) {
    steps.set(line.position, [...(steps.get(line.position) ?? []), ...line.ids])
  }
  const got = [...steps].sort(([a], [b]) => a - b).map(([, ids]) => ids.sort())
  expect(got).toEqual(expected)
  expect(new Set(got.flat()).size).toBe(COUNT)

  expect(leftovers(temporary)).toEqual([])
  expect(processesWith(feed)).toEqual([])
})

describe('nothing remains', () => {
  test('after kill -9: no process, no shared memory, no file', async () => {
    const temporary = temporaryFolder()
    const data = temporaryFolder()
    writeShards(data, 40, 2)
    const json = JSON.stringify({
      source: { tar: join(data, 'train-{0000..0001}.tar') },
      order: { shuffle: { window: 16 }, seed: 0 },
      fields: { image: { from: 'jpg', as: 'image', apply: [{ randomResizedCrop: 8 }] } },
      batch: 8,
    })
    const before = shm()
    const ids = join(temporary, 'ids.jsonl')
    const { child, ended } = start(['run', json, '--ids', ids, '--epochs', '100000', '--workers', '2'], {
      env: { TMPDIR: temporary },
    })
    await grown(ids, 20)
    expect(openFiles(child.pid!).some(name => name.includes('memfd:millrace'))).toBe(true)
    child.kill('SIGKILL')
    expect((await ended).signal).toBe('SIGKILL')
    expect(processesWith(data)).toEqual([])
    expect(shm()).toEqual(before)
    expect(leftovers(temporary)).toEqual(['ids.jsonl'])
    expect(leftovers(data).sort()).toEqual([
      '.train-0000.tar.millrace',
      '.train-0001.tar.millrace',
      'train-0000.tar',
      'train-0001.tar',
    ])
  })

  test.each([
    ['while it has to wait', '0'],
    ['while batches are always ready', '30'],
  ])('Ctrl-C ends it, with status 130: %s', async (_, stepMs) => {
    const ids = join(temporaryFolder(), 'ids.jsonl')
    const args = ['run', feed, '--ids', ids, '--epochs', '100000', '--workers', '2', '--step-ms', stepMs]
    const { child, ended } = start(args)
    await grown(ids, 10)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({
      code: 130,
      signal: null,
      stdout: expect.stringMatching(/^\d+ steps, .* samples\/s/),
    })
  })

  test('Ctrl-C ends a wait for a batch that never comes, and what was done is told', async () => {
    const folder = temporaryFolder()
    const ids = join(folder, 'ids.jsonl')
    await feedModule(
      folder,
      'hangs.feed.mjs',
      `let samples = 0
      export default feed({
        source: synthetic({ count: 64, images: { width: 8, height: 8, classes: 16 } }),
        fields: { label: int('cls').map(value => (++samples > 40 ? new Promise(() => {}) : value)) },
        batch: 4,
      })`,
    )
    const hangs = join(folder, 'hangs.feed.mjs')
    const { child, ended } = start(['run', hangs, '--ids', ids, '--endless', '--workers', '1', '--json'])
    await grown(ids, 8)
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(130)
    expect(JSON.parse(stdout)).toMatchObject({ steps: expect.any(Number), tuner: { decisions: [] } })
  })

  test('with a temporary folder that can not be written', async () => {
    const { code, stderr } = await start(['run', feed, '--steps', '3'], { env: { TMPDIR: '/nowhere' } }).ended
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('nowhere')])
  })
})

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
}
