/** Damaged files of lines: they are refused by name, or their rows are read or bad; no memory is asked for beyond a bound. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { readRow } from '../../../core/test/source/conformance.js'

const { files } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../test/golden/lines/golden.json'), 'utf8'),
) as { files: Record<string, string> }
const root = temporaryFolder()
/** A frame of zstd may say that it has 256 MiB; nothing else is larger than what is read at a time. */
const MOST = (256 << 20) + 1024
/** Rows that are read. */
const LOOKED_AT = 80

let written = 0

async function read(bytes: Uint8Array, kind: string): Promise<void> {
  const name = `x${written++}.data`
  writeFileSync(join(root, name), bytes)
  utimesSync(join(root, name), 1e9, 1e9) // long ago: a file that was just written is waited for
  const source = attachSource(
    await openSource({ [kind]: name } as unknown as SourceJson, { root, wanted: [] }),
  )
  const columns = kind === 'jsonl' ? [...source.columns, 'a.b', 'text'] : source.columns
  for (let row = 0; row < Math.min(source.count, LOOKED_AT); row++) {
    try {
      readRow(source, row, columns)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
    }
  }
}

describe('any damage is an error that names the file, or bad rows', () => {
  it.each([
    ['unicode.jsonl', 'jsonl'],
    ['gzip-parts.jsonl', 'jsonl'],
    ['gzip.jsonl', 'csv'],
    ['zstd-parts.jsonl', 'jsonl'],
    ['zstd-stream.jsonl', 'text'],
    ['csv-0.csv', 'csv'],
    ['pandas.csv', 'csv'],
    ['unicode.txt', 'text'],
  ])('%s as %s', async (name, kind) => {
    const golden = Buffer.from(files[name], 'base64')
    await survives(golden, bytes => read(bytes, kind), { most: MOST, runs: 60, says: /x\d+\.data/ })
  })
})
