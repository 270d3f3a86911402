/** Texts, bytes and JSON come as the libraries of each format read them: test/golden/texts/make.py wrote the files. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type FeedJson, type OpenOptions, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'

const golden = join(import.meta.dirname, '../../../../../test/golden/texts')
const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')
beforeAll(() => cpSync(golden, root, { recursive: true }))

interface Expected {
  bytes: string[]
  marks: string[]
  values: unknown[]
  lists: unknown[]
}
const { bytes, marks, values, lists } = JSON.parse(
  readFileSync(join(golden, 'expected.json'), 'utf8'),
) as Expected

const SOURCES: Record<string, (path: string) => FeedJson['source']> = {
  npy: path => ({ npy: { path, rows: 'axis' } }) as never,
  npz: path => ({ npz: { path, rows: 'axis' } }) as never,
  zarr: zarr => ({ zarr }),
  h5: hdf5 => ({ hdf5 }),
  parquet: parquet => ({ parquet }),
  arrow: arrow => ({ arrow }),
  jsonl: jsonl => ({ jsonl }),
  csv: csv => ({ csv }),
}

function sourceOf(name: string): FeedJson['source'] {
  return SOURCES[name.split('.')[1]](join(root, name))
}

type Given = Partial<FeedJson> & { options?: OpenOptions }

/** A column of all rows, as texts or, of a field of bytes, in hexadecimal; of rows that are good. */
async function column(name: string, from: string, as: 'text' | 'json' | 'bytes', given: Given = {}) {
  const { options, ...rest } = given
  const json: FeedJson = {
    source: sourceOf(name),
    order: 'none',
    fields: { it: { from, as, ragged: { max: 1000 } } },
    batch: { size: 2, last: 'keep' },
    ...rest,
  }
  return using(json, { workers: 0, ...options }, async loader => {
    const out: string[] = []
    for await (const batch of loader) {
      const got = batch.it as string[] | { values: Uint8Array; offsets: Int32Array }
      if (Array.isArray(got)) out.push(...got)
      else
        for (let i = 0; i + 1 < got.offsets.length; i++)
          out.push(Buffer.from(got.values.subarray(got.offsets[i], got.offsets[i + 1])).toString('hex'))
    }
    return out
  })
}

const drop = { onError: { policy: 'drop', budget: 100 } } as const

describe('fixed bytes', () => {
  const utf8 = bytes
    .map(hex => Buffer.from(hex, 'hex'))
    .filter(one => one.equals(Buffer.from(one.toString())))
  for (const [name, from] of [
    ['bytes.npy', 'data'],
    ['bytes.npz', 'x'],
    ['bytes.zarr', 'x'],
    ['bytes.h5', 'x'],
  ]) {
    test(`${name}: bytes stay`, async () => {
      expect(await column(name, from, 'bytes')).toEqual(bytes)
    })
    test(`${name}: what is no UTF-8 is a bad sample of a text`, async () => {
      const texts = await column(name, from, 'text', drop)
      expect(texts).toHaveLength(utf8.length)
      expect(texts.join()).not.toContain('\ufffd')
      await expect(column(name, from, 'text')).rejects.toThrow(/:0 .*is not UTF-8: byte 0xff at 0/)
    })
  }
})

describe('a leading U+FEFF stays', () => {
  for (const [name, from] of [
    ['marks.parquet', 'text'],
    ['marks.arrow', 'text'],
    ['marks.jsonl', 'text'],
    ['marks.csv', 'text'],
    ['marks.npy', 'data'],
  ]) {
    test(`${name}: in what is delivered`, async () => {
      expect(await column(name, from, 'text')).toEqual(marks)
    })
    test(`${name}: in what rows are selected by`, async () => {
      const source = { subset: { source: sourceOf(name), where: { [from]: ['\ufeffleading', '\ufeff'] } } }
      expect(await column(name, from, 'text', { source: source as never })).toEqual([
        '\ufeffleading',
        '\ufeff',
      ])
    })
  }
})

describe('as json', () => {
  const parsed = (texts: string[]) => texts.map(text => JSON.parse(text) as unknown)

  for (const name of ['values.jsonl', 'texts.jsonl', 'values.csv'])
    test(`${name}: a value becomes its JSON once`, async () => {
      const got = await column(name, 'value', 'json')
      expect(parsed(got)).toEqual(values)
      expect(got).toContain('[9007199254740993]')
    })

  for (const name of ['lists.parquet', 'lists.arrow'])
    test(`${name}: lists of texts`, async () => {
      expect(parsed(await column(name, 'value', 'json'))).toEqual(lists)
    })

  test('a text stays as it is written, without a byte order mark', async () => {
    const texts = ['{ "a" : 1.0 }', '\ufeff[1]']
    writeFileSync(join(root, 'own.jsonl'), texts.map(value => `${JSON.stringify({ value })}\n`).join(''))
    expect(await column('own.jsonl', 'value', 'json')).toEqual(['{ "a" : 1.0 }', '[1]'])
  })

  test('text that is no JSON is a bad sample', async () => {
    writeFileSync(join(root, 'bad.jsonl'), '{"value": "no JSON"}\n{"value": {"a": 1}}\n')
    expect(await column('bad.jsonl', 'value', 'json', drop)).toEqual(['{"a": 1}'])
    await expect(column('bad.jsonl', 'value', 'json')).rejects.toThrow(/bad\.jsonl:0 .*is not JSON/)
  })

  test('an array that is longer than the field takes is not written', async () => {
    writeFileSync(join(root, 'long.jsonl'), `{"value": [${'1,'.repeat(999)}1]}\n`)
    await expect(column('long.jsonl', 'value', 'json')).rejects.toThrow(/1999/)
  })
})
