/** A store that is slow is told of what will be read: each read once, before its turn, and nothing that is never read. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { FeedJson } from '../../../../../test/support/engine.js'
import { open } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'

const ROWS = 1600
const folder = temporaryFolder()
mkdirSync(join(folder, 'data'))
writeFileSync(
  join(folder, 'data/a.tar'),
  tarFile(Array.from({ length: ROWS }, (_, i) => ({ name: `${i}.txt`, data: `row ${i}`.padEnd(600, '.') }))),
)

/** Objects are the files of a folder. A read takes its time, and all that is asked for is written down. */
const plugin = join(folder, 'sleepy.mjs')
writeFileSync(
  plugin,
  `import { closeSync, openSync, readSync, statSync } from 'node:fs'
  const log = (globalThis.sleepyLog ??= [])
  const nap = new Int32Array(new SharedArrayBuffer(4))
  const file = name => name.replace('sleepy://', ${JSON.stringify(`${folder}/`)})
  class Sleepy {
    merge = { gap: 0, most: 1 << 20 }
    async stat(name) { return this.statNow(name) }
    statNow(name) { return { bytes: statSync(file(name)).size, version: '1' } }
    async read(name, offset, into) { this.readNow(name, offset, into) }
    readNow(name, offset, into) {
      log.push({ kind: 'read', offset, length: into.length })
      Atomics.wait(nap, 0, 0, 0.2)
      const fd = openSync(file(name))
      readSync(fd, into, 0, into.length, offset)
      closeSync(fd)
      return true
    }
    hint({ offset, length }) { log.push({ kind: 'hint', offset, length }) }
    close() {}
  }
  export default { stores: { sleepy: { attach: () => new Sleepy() } } }`,
)

interface Entry {
  kind: 'read' | 'hint'
  offset: number
  length: number
}

/** What the store is asked for while a feed is read, in this thread. */
async function logged(order: FeedJson['order'], epochs: number): Promise<Entry[]> {
  const json: FeedJson = {
    source: { tar: 'sleepy://data/a.tar' },
    order,
    fields: { text: { from: 'txt', as: 'bytes', ragged: { max: 16_384 } } },
    batch: { size: 4, last: 'keep' },
  }
  process.env.MILLRACE_CACHE = join(folder, 'cache')
  const loader = open(json, { workers: 0, epochs, plugins: [plugin] })
  const log = ((globalThis as { sleepyLog?: Entry[] }).sleepyLog ??= [])
  let rows = 0
  for await (const batch of loader) {
    if (rows === 0) log.length = 0 // what opening asks for
    rows += batch.count
  }
  await loader.close()
  expect(rows).toBe(epochs * ROWS)
  return log.splice(0)
}

/** For each hint, how many entries later it was read; −1: never. */
function delays(log: Entry[]): number[] {
  return log.flatMap((entry, at) => {
    if (entry.kind === 'read') return []
    const later = log.slice(at).findIndex(({ kind, offset }) => kind === 'read' && offset === entry.offset)
    return [later]
  })
}

it('global order: rows, 8 claims of 4 ahead', async () => {
  const log = await logged({ shuffle: 'global', seed: 5 }, 1)
  const hints = log.filter(({ kind }) => kind === 'hint')
  expect(hints.length).toBeGreaterThan(ROWS / 2)
  expect(new Set(hints.map(({ offset }) => offset)).size).toBe(hints.length)
  const after = delays(log)
  expect(Math.min(...after)).toBeGreaterThan(32)
  expect(Math.max(...after)).toBeLessThan(80)
  const lengths = new Map(log.map(({ offset, length }) => [offset, length]))
  expect(hints.every(({ offset, length }) => lengths.get(offset) === length)).toBe(true)
})

it('goes on over the end of an epoch, and ends with the last', async () => {
  const log = await logged({ shuffle: 'global', seed: 5 }, 2)
  expect(log.filter(({ kind }) => kind === 'hint').length).toBeGreaterThan((3 * ROWS) / 2)
  // A row that is hinted for the next epoch may still come in this one.
  expect(Math.min(...delays(log))).toBeGreaterThan(0)
  expect(Math.max(...delays(log))).toBeLessThan(80)
})

it('windowed order: nothing, since blocks are read as one', async () => {
  const log = await logged({ shuffle: { window: 256 }, seed: 5 }, 1)
  expect(log.filter(({ kind }) => kind === 'hint')).toEqual([])
  expect(log.length).toBeLessThan(ROWS / 4)
})
