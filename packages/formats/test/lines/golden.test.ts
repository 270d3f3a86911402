/** Files that Python's json, csv, pandas, pyarrow and datasets read: the same rows, value for value. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import type { Column } from '../../../core/source/source.js'
import { readRow } from '../../../core/test/source/conformance.js'

type Plain = null | string | number | { int: string } | { float: string } | Plain[]

interface Golden {
  files: Record<string, string>
  cases: {
    name: string
    source: SourceJson
    columns: string[]
    rows: Record<string, Plain>[]
    schema?: Record<string, string>
    emptyIsNone?: boolean
  }[]
}

const golden: Golden = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../test/golden/lines/golden.json'), 'utf8'),
)
const root = temporaryFolder()
writeFiles(
  root,
  Object.fromEntries(Object.entries(golden.files).map(([name, data]) => [name, Buffer.from(data, 'base64')])),
)

/** Python's value as a number, bigint or text. */
function pythons(plain: Plain): unknown {
  if (plain === null || typeof plain !== 'object') return plain
  if (Array.isArray(plain)) return plain.map(pythons)
  if ('int' in plain) return BigInt(plain.int)
  return Number(plain.float.replace('inf', 'Infinity'))
}

/** Ours in the same form; integers as bigints where Python's is one. */
function ours(value: Column | undefined, wanted: unknown): unknown {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (typeof value === 'object') {
    const data = value.tiles[0].data as Uint8Array
    const [buffer, length] = [data.slice().buffer, data.length / 8]
    return [
      ...(value.dtype === 'i64' ? new BigInt64Array(buffer, 0, length) : new Float64Array(buffer, 0, length)),
    ]
  }
  return typeof wanted === 'bigint' && typeof value === 'number' ? BigInt(value) : value
}

describe.each(golden.cases.map(one => [one.name, one] as const))('%s', (_, one) => {
  it('has the same rows', async () => {
    const source = attachSource(await openSource(one.source, { root, wanted: [] }))
    expect(source.count).toBe(one.rows.length)
    if (one.schema !== undefined) {
      const schema = source.layout!()!.schema.map(({ name, type }) => [name, type.replace(/,.*/, '')])
      expect(Object.fromEntries(schema)).toEqual(one.schema)
    }
    for (let row = 0; row < source.count; row++) {
      const found = readRow(source, row, one.columns)
      for (const name of one.columns) {
        const wanted = pythons(one.rows[row][name] ?? null)
        if (one.emptyIsNone && wanted === '') expect([undefined, '']).toContain(found[name])
        else expect(ours(found[name], wanted), `row ${row}, ${name}`).toEqual(wanted)
      }
    }
  })
})
