/** Opens files with arrays (.npy, .npz, .safetensors): finds them, reads their headers or the index of them, counts rows. */

import { createHash } from 'node:crypto'
import { inFile, SourceError } from '../../core/basics/errors.js'
import { type DataFile, findDataFiles } from '../../core/source/find/data-files.js'
import { IndexFile } from '../../core/source/index/file.js'
import type { OpenContext } from '../../core/source/source.js'
import { Stores } from '../../core/store/stores.js'
import { withPath } from '../paths.js'
import { type ArrayFormat, type ArraysIndex, obtainArraysIndex } from './index-file.js'
import type { ArrayFilesJson, ArraysManifest } from './manifest.js'

/** Lines that a fingerprint keeps at most. */
const MOST_PARTS = 4096

export async function openArrays(
  format: ArrayFormat,
  json: ArrayFilesJson,
  context: OpenContext,
): Promise<ArraysManifest> {
  const { kind, single = false } = format
  const { path, rows = 'files' } = withPath(json)
  using stores = new Stores()
  const files = await findDataFiles(path, context.root, stores, { source: kind, what: 'file' })
  const index = await obtainArraysIndex(format, files, stores, context)
  checkWanted(kind, rows, index, single ? index.meta.columns : context.wanted, context)
  const counts = rows === 'files' ? files.map(() => 1) : rowCounts(kind, files, index)
  const count = counts.reduce((sum, n) => sum + n, 0)
  if (count === 0)
    throw new SourceError(`no row in ${files[0].file}: its first axis is empty`, { file: files[0].file })
  const { header, meta, path: indexPath } = index
  return {
    kind,
    fingerprint: {
      kind,
      count,
      digest: digestOf(rows, files, counts),
      parts: files.slice(0, MOST_PARTS).map(({ name, bytes }, i) => ({ name, count: counts[i], bytes })),
    },
    stamp: meta.listing,
    indexBytes: header.bytes,
    index: indexPath,
    checksum: header.checksum,
    rows,
    names: meta.columns,
    columns: meta.columns.filter(
      name => !meta.unusable.includes(name) && (rows === 'files' || !meta.aside.includes(name)),
    ),
    units: meta.units,
    layout: meta.layout,
    most: context.most ?? {},
  }
}

/** Refuses columns that fields ask for and that can't be had, now, and not at the first sample. */
function checkWanted(
  kind: string,
  rows: 'files' | 'axis',
  { meta }: ArraysIndex,
  asked: readonly string[],
  { wanted, notice }: OpenContext,
): void {
  for (const name of asked) {
    const why = meta.refused[name]
    if (why !== undefined) throw new SourceError(`${kind}, column "${name}": ${why}`)
  }
  if (rows === 'files') return
  const aside = meta.aside.filter(name => meta.refused[name] === undefined)
  const lost = aside.find(name => wanted.includes(name))
  if (lost !== undefined) {
    throw new SourceError(
      `${kind}, column "${lost}": its first axis is not as long as that of the other arrays, so it has no value for each row: ` +
        'leave it out, or read each file as one sample (without rows: "axis")',
    )
  }
  if (aside.length > 0) {
    notice?.(
      `${kind}: ${aside.map(name => `"${name}"`).join(', ')} ${aside.length === 1 ? 'is' : 'are'} left out, since the first axis is not as long as that of the other arrays`,
    )
  }
}

function rowCounts(kind: string, files: readonly DataFile[], { path, header }: ArraysIndex): number[] {
  const rows = new IndexFile(path, false, header).numbers('rows')
  return files.map(({ file }, i) => {
    if (rows[i] >= 0) return rows[i]
    throw inFile(
      file,
      `has no array with a first axis, so it has no rows: read it as one sample (without rows: "axis" in ${kind})`,
    )
  })
}

function digestOf(rows: string, files: readonly DataFile[], counts: readonly number[]): string {
  const hash = createHash('sha256').update(`${rows}\n`)
  files.forEach(({ name, bytes }, i) => {
    hash.update(`${name}\0${counts[i]}\0${bytes}\n`)
  })
  return hash.digest('hex').slice(0, 32)
}
