import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Fetcher } from '../../src/engine/make/fetch.js'
import type { Source } from '../../src/source/source.js'
import { temporaryFolder, writeFiles } from '../support/folder.js'

/** Rows are files, of which the source keeps a text that says what was in them. */
function loadingSource(files: readonly string[]): Source {
  return {
    columns: ['x'],
    unitOf: (row: number) => row,
    plan: (unit: number) => [{ file: files[unit], offset: 0, length: 4 }],
    load: (unit: number, [piece]: Uint8Array[]) => [Buffer.from(`${unit}: ${Buffer.from(piece)}`)],
    sample: (_row: number, [x]: Uint8Array[]) => ({ x: Buffer.from(x).toString() }),
  } as unknown as Source
}

it('loads rows that are units of their own, also where one of them can’t be read', () => {
  const data = temporaryFolder()
  writeFiles(data, { a: 'aaaa', b: 'bb', c: 'cccc' })
  const files = ['a', 'b', 'c'].map(name => join(data, name))
  const fetcher = new Fetcher([loadingSource(files)], undefined, 0)
  const draws = [0, 2, 1].map(row => ({ source: 0, row, drawn: 0 }))
  fetcher.fetch(draws, 2, () => {})
  expect([fetcher.sample(0).x, fetcher.sample(1).x]).toEqual(['0: aaaa', '2: cccc'])
  fetcher.fetch(draws, 3, () => {})
  expect([fetcher.sample(0).x, fetcher.sample(1).x]).toEqual(['0: aaaa', '2: cccc'])
  expect(() => fetcher.sample(2)).toThrow('wanted 4 bytes')
  fetcher.close()
})
