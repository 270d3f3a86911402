/** Pictures and sounds that a table names by paths: Hugging Face's struct of bytes and path (test/golden/paths/make.py). */
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AnyLoader, type FeedJson, open as openFeed } from '../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { slowStore } from '../../../../test/support/slow-store.mjs'
import { DecodeError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Source } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { addStore, Stores } from '../../../core/store/stores.js'
import { readRow } from '../../../core/test/source/conformance.js'

const golden = join(import.meta.dirname, '../../../../test/golden/paths')
let root = ''
let reported: string[] = []

beforeEach(() => {
  root = temporaryFolder()
  reported = []
  process.env.MILLRACE_CACHE = join(root, 'cache')
  cpSync(golden, join(root, 'data'), { recursive: true })
  writeFiles(root, { secret: 'not yours', 'data/pics/a.jpg': 'picture a', 'data/pics/c.jpg': 'picture c' })
})

/** The picture of the first row, through the engine. */
async function firstOf(json: SourceJson): Promise<string> {
  const [[name, path]] = Object.entries(json)
  const source = { [name]: join(root, path) } as unknown as SourceJson
  const feed: FeedJson = {
    source: { subset: { source, indices: [0] } },
    fields: { image: { from: 'image', as: 'text', ragged: { max: 64 } } },
    batch: { size: 1, last: 'keep' },
  }
  const loader = openFeed(feed, { workers: 0, epochs: 1 }) as AnyLoader
  const found: string[] = []
  try {
    for await (const batch of loader) found.push(...(batch.get('image') as unknown as string[]))
  } finally {
    await loader.close()
  }
  return found.join()
}

describe.each([
  ['parquet', { parquet: 'data/table.parquet' }],
  ['arrow', { arrow: 'data/table.arrow' }],
] as [string, SourceJson][])('%s', (_, json) => {
  async function open(source = json): Promise<Source> {
    const context = {
      root,
      wanted: ['image'],
      progress: (_: number, __: number, what: string) => reported.push(what),
    }
    return attachSource(structuredClone(await openSource(source, context)))
  }

  const textOf = (source: Source, row: number): string | undefined => {
    const { image } = readRow(source, row, ['image', 'label'])
    return image === undefined ? undefined : Buffer.from(image as Uint8Array).toString()
  }

  it('reads bytes from the table, or the file that the path leads to', async () => {
    const source = await open()
    expect([0, 1, 4, 6].map(row => textOf(source, row))).toEqual([
      'picture a',
      'in the table',
      undefined,
      'picture c',
    ])
    expect(readRow(source, 0, ['label', 'image.path'])).toMatchObject({ label: 0n })
  })

  it('refuses paths that lead out of the folder of the table, and files that are missing', async () => {
    const source = await open()
    for (const [row, message] of [
      [2, 'leads out of the folder of the table'],
      [3, 'is no file: copy the files beside the table'],
      [5, 'its path /etc/passwd leads out of the folder of the table'],
    ] as const) {
      expect(() => textOf(source, row)).toThrow(message)
      expect(() => textOf(source, row)).toThrow(DecodeError)
    }
  })

  it('reads what lies in the root that the error proposes', async () => {
    const message = (source: Source): string => {
      try {
        return String(textOf(source, 2))
      } catch (error) {
        return (error as Error).message
      }
    }
    const given = /"root": "([^"]+)" in the source would do/.exec(message(await open()))?.[1]
    // The table names a file beside its folder, and /etc/passwd.
    expect(given).toBe('/')
    const [[name, path]] = Object.entries(json)
    const within = (root: string) => open({ [name]: { path, root } } as unknown as SourceJson)
    expect(textOf(await within('/'), 2)).toBe('not yours')
    const parent = await within('.')
    expect([textOf(parent, 0), textOf(parent, 2)]).toEqual(['picture a', 'not yours'])
    expect(() => textOf(parent, 5)).toThrow('leads out of the folder of the table')
    expect(message(await open())).toContain('leads out')
  })

  it('finds a file that was missing before, and looks for others once', async () => {
    const before = await open()
    expect(() => textOf(before, 3)).toThrow('is no file')
    writeFileSync(join(root, 'data/pics/none.jpg'), 'late')
    expect(textOf(await open(), 3)).toBe('late')
    reported = []
    await open()
    expect(reported.filter(what => what.startsWith('looking for'))).toEqual([])
  })

  it('tells that a file has changed, and then looks anew', async () => {
    expect(await firstOf(json)).toBe('picture a')
    writeFileSync(join(root, 'data/pics/a.jpg'), 'other')
    await expect(firstOf(json)).rejects.toThrow('a.jpg changed after it was indexed')
    expect(await firstOf(json)).toBe('other')
  })

  it('reads from the store of the table', async () => {
    const [[name, path]] = Object.entries(json)
    const scheme = `far-${name}`
    addStore(scheme, slowStore({ folder: root, scheme, latency: 1, errors: 0 }))
    const source = await open({ [name]: `${scheme}://${path}` } as unknown as SourceJson)
    using stores = new Stores()
    const reader = new RowReader(source, new Reader(stores))
    const read = async (row: number): Promise<string> =>
      Buffer.from((await reader.read(row, ['image'])).sample.image as Uint8Array).toString()
    expect([await read(0), await read(1), await read(6)]).toEqual(['picture a', 'in the table', 'picture c'])
    await expect(read(2)).rejects.toThrow('leads out of the folder of the table')
    await expect(read(5)).rejects.toThrow('leads out of the folder of the table')
  })

  it('leaves tables alone whose pictures are in them', async () => {
    rmSync(join(root, 'data/pics'), { recursive: true })
    expect((await openSource(json, { root, wanted: ['image'] })).kind).not.toBe('pathed')
    expect((await openSource(json, { root, wanted: ['label'] })).kind).not.toBe('pathed')
  })
})
