/** More files than a process may map: from some number on their indexes are read, and few of them are kept. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { loopIds, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { mapped } from '../../../../../test/support/maps.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { OpenIndexes } from '../../../../formats/shared/file-rows.js'

vi.hoisted(() => {
  process.env.MILLRACE_BUILT = 'build'
})

const FILES = 400
const { mapFile, mappings } = (await import(
  new URL('../../../../../build/core/system/memory/mmap.js', import.meta.url).href
)) as typeof import('../../../system/memory/mmap.js')

let root: string
beforeEach(() => {
  root = temporaryFolder()
  // The last word counts the files that are mapped: as if there were as many as there may be.
  new BigInt64Array(mappings()).fill(1n << 40n, -1)
})
afterEach(() => {
  new BigInt64Array(mappings()).fill(0n, -1)
})

it('reads a file where no more may be mapped', () => {
  const path = join(root, 'not mapped')
  writeFileSync(path, 'some text')
  expect(Buffer.from(mapFile(path).buffer).toString()).toBe('some text')
  expect(mapped(path)).toBe(0)
})

it.each(['tar', 'jsonl'])('delivers each row once of %s files whose indexes are not mapped', async kind => {
  for (let i = 0; i < FILES; i++) {
    const rows =
      kind === 'tar'
        ? tarFile(['a', 'b'].map(key => ({ name: `${key}.cls`, data: String(i) })))
        : `{"cls":${i}}\n{"cls":${-i}}\n`
    writeFileSync(join(root, `f-${i}.${kind}`), rows)
  }
  const feed = {
    source: (kind === 'tar' ? { tar: 'f-*.tar' } : { jsonl: 'f-*.jsonl' }) as { tar: string },
    order: { shuffle: 'global', seed: 1 } as const,
    fields: { cls: { from: 'cls', as: 'int' } } as const,
    batch: { size: 50, last: 'keep' } as const,
  }
  await using(feed, { root, workers: 2 }, async loader => {
    const first = await loopIds(loader, 3)
    const state = loader.state()
    const rest = await using(feed, { root, workers: 1, state }, other => loopIds(other))
    expect(new Set([...first, ...rest].flat()).size).toBe(2 * FILES)
    expect(mapped(`${root}/.f-`)).toBe(0)
  })
})

it('keeps the indexes that were used last', () => {
  const opened: number[] = []
  const indexes = new OpenIndexes(60_000, file => {
    opened.push(file)
    return { file }
  })
  const all = Array.from({ length: 60_000 }, (_, file) => file)
  for (const file of all) {
    expect(indexes.of(file).file).toBe(file)
    indexes.of(0)
  }
  expect(opened).toEqual(all)
  indexes.of(59_000)
  expect(opened).toEqual(all)
  indexes.of(1)
  expect(opened).toEqual([...all, 1])
})
