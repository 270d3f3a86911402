/** What opening a feed over units of many rows says, refuses, and puts into its hash: through a source of a plugin's. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { engine, type FeedJson, type OpenOptions, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'

const CLI = join(import.meta.dirname, '../../../../dist/cli/main.js')
const folder = temporaryFolder()
const plugin = join(folder, 'rows.mjs')

/** `units` units of 100 rows; each is said to take `bytes` once loaded, and nothing is read. */
const PLUGIN = `export default { sources: { rows: {
  open: json => ({ json, fingerprint: { count: 100 * json.units, digest: 'rows ' + json.units } }),
  attach({ json: { units, bytes, wrong = 0, single } }) {
    const unitOf = row => Math.floor(row / 100)
    const source = {
      count: 100 * units,
      columns: ['number'],
      runs: Float64Array.of(0, 200),
      id: String,
      key: String,
      index: () => undefined,
      planUnit: () => [],
      unitBytes: () => bytes,
      need(row, epoch, columns, out) { if (!single) out.units.push({ leaf: source, unit: unitOf(row), columns }) },
      sample: row => ({ number: row }),
    }
    if (!single) source.unitStarts = Float64Array.from({ length: units }, (_, unit) => 100 * unit + (unit === 2 ? wrong : 0))
    return source
  },
} } }`

beforeAll(() => writeFileSync(plugin, PLUGIN))

type Rows = { units?: number; bytes?: number; wrong?: number; single?: boolean }

function rows(order: FeedJson['order'], json: Rows = {}): FeedJson {
  return {
    source: { rows: { units: 100, bytes: 1e6, ...json } } as unknown as FeedJson['source'],
    order,
    fields: { number: { from: 'number', as: 'int' } },
    batch: 50,
  }
}

const global = { shuffle: 'global', seed: 1 } as const
const window = (window: number) => ({ shuffle: { window }, seed: 1 })

/** Opens a feed; what it said, and its state. */
async function opened(json: FeedJson, options: OpenOptions = {}) {
  const notices: string[] = []
  const all = { workers: 0, plugins: [plugin], notice: (text: string) => notices.push(text), ...options }
  const state = await using(json, all, async loader => {
    await loader.ready
    return loader.state()
  })
  return { notices, state }
}

describe('opening says, once', () => {
  test('what a global shuffle costs, with a window that fits', async () => {
    const { notices } = await opened(rows(global), { cache: 20e6 })
    expect(notices).toEqual([
      expect.stringMatching(/global shuffle loads .*"rows" about 80 times.*"window": 700/),
    ])
  })

  test('that the cache does not hold a window', async () => {
    const { notices } = await opened(rows(window(2000)), { cache: 7e6 })
    expect(notices).toEqual([expect.stringMatching(/units .* more than once.* at least 46000000 bytes/)])
  })

  test('that a window holds few units', async () => {
    const { notices } = await opened(rows(window(1000)))
    expect(notices).toEqual([expect.stringMatching(/window of 1000 samples holds 10 units.*at least 1600/)])
  })

  test('nothing where nothing is dear', async () => {
    expect((await opened(rows('none'), { cache: 7e6 })).notices).toEqual([])
    expect((await opened(rows(window(2000)))).notices).toEqual([])
    // By itself the cache holds all units, since memory allows it.
    expect((await opened(rows(global, { bytes: 1e5 }))).notices).toEqual([])
    expect((await opened(rows(global, { single: true }), { cache: 7e6 })).notices).toEqual([])
  })
})

test('a unit above a quarter of the cache is refused', async () => {
  const refused = opened(rows('none', { bytes: 2e6 }), { cache: 7e6 })
  await expect(refused).rejects.toThrow(engine.BudgetError)
  await expect(refused).rejects.toThrow(/"rows".*raise the option "cache" to at least 8000000 bytes/)
})

test('units that reach over a run are refused, by the name of their source', async () => {
  await expect(opened(rows('none', { wrong: 50 }))).rejects.toThrow(
    /source "rows" of .*rows\.mjs.* unit 1 of rows 100 to 249, but a run begins at row 200/,
  )
})

test('a state of a windowed order is refused after the units were moved; one of a global order is not', async () => {
  const moved = { single: true }
  const { state } = await opened(rows(window(2000)))
  await expect(opened(rows(window(2000), moved), { state })).rejects.toThrow(
    /row groups or chunks of the data begin at other rows, and a windowed shuffle goes by them/,
  )
  const { state: other } = await opened(rows(global))
  expect((await opened(rows(global, moved), { state: other })).state.position).toBe(0)
})

test('inspect says how often units are loaded', () => {
  const inspected = (...words: string[]) =>
    spawnSync(
      process.execPath,
      [CLI, 'inspect', JSON.stringify(rows(window(1500))), '--plugin', plugin, ...words],
      { encoding: 'utf8' },
    ).stdout
  const { order } = JSON.parse(inspected('--json'))
  expect(order).toMatchObject([{ name: 'window', loadsPerUnit: 1, units: { units: 100, rowsPerUnit: 100 } }])
  expect(inspected()).toMatch(
    /^order +window scores 0\.\d\d, .*each of 100 units is loaded 1\.00 times an epoch/m,
  )
})
