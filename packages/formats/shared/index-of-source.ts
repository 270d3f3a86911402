/**
 * What opening a source of many files found, kept in one file of the cache folder: its manifest. With it no index of a
 * single file has to be opened before the first batch: one look at each file and at each index shows whether the manifest
 * still holds. If anything differs, the source is opened as if there were no such file, and the manifest is kept anew.
 */

import { createHash } from 'node:crypto'
import { readFileSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SourceError } from '../../core/basics/errors.js'
import type { DataFile } from '../../core/source/find/data-files.js'
import { TextBuilder } from '../../core/source/index/columns.js'
import { IndexFile, readHeader } from '../../core/source/index/file.js'
import type { IndexFound } from '../../core/source/index/place.js'
import { distrust, isDisowned } from '../../core/source/index/trust.js'
import { writeIndex } from '../../core/source/index/write.js'
import type { Manifest, OpenContext } from '../../core/source/source.js'
import { cachedPath } from '../../core/system/files/cache-folder.js'
import { makeFolder } from '../../core/system/files/folder.js'

/** Of fewer files the indexes are opened in a few milliseconds. */
const MANY = 32
const KIND = 'opened'
/** Bytes of buffers that are kept at most: the table of a hundred million samples is better read again. */
const MOST_KEPT = 256 << 20
/** The clock of files may lag behind by this much. In ms. */
const TICK = 50
/** Stands in the manifest's text where a buffer was; the number is its row in the column of buffers. */
const BUFFER = '$buffer'

/** A source that was opened, and the indexes that its manifest speaks of. */
export interface Opened<M extends Manifest> {
  manifest: M
  indexes: readonly IndexFound[]
}

/** What is kept besides the buffers. */
interface Kept {
  /** Of all that decides the manifest: the files as they are, the options, this Millrace. */
  about: string
  /** Columns that fields asked for: for these the source was opened without complaint. */
  asked: string[]
  /** What the source had to tell. */
  notices: string[]
  /** Paths of the indexes, their checksums, and a digest of what the files at these paths were. */
  indexes: string[]
  checksums: number[]
  indexStats: string
  manifest: Record<string, unknown>
}

/**
 * Opens a source, or gives the manifest of the last time, and tells again what the source had to tell then (`notice`). `options`
 * is what else decides the manifest, as JSON.
 */
export async function openMany<M extends Manifest>(
  kind: M['kind'],
  files: readonly DataFile[],
  options: unknown,
  context: OpenContext,
  open: (context: OpenContext) => Promise<Opened<M>>,
): Promise<M> {
  if (files.length < MANY) return (await open(context)).manifest
  const path = cachedPath(nameOf(kind, files, options))
  const about = digestOf(kind, files, [options, context.most])
  const { wanted } = context
  const before = read(path, about, context.check === 'nothing' ? undefined : wanted)
  if (before?.manifest !== undefined) {
    for (const text of before.notices) context.notice?.(text)
    return before.manifest as M
  }

  const notices: string[] = []
  const notice = (text: string): void => {
    notices.push(text)
    context.notice?.(text)
  }
  const start = Date.now()
  const opened = await open({ ...context, notice })
  const asked = [...new Set([...wanted, ...(before?.asked ?? [])])]
  write(path, { about, asked, notices }, opened, start)
  return opened.manifest
}

/** What is kept, if it is whole and the indexes are the ones that it speaks of. The manifest only if it is for these columns. */
function read(
  path: string,
  about: string,
  wanted: readonly string[] | undefined,
): { asked: string[]; notices: string[]; manifest?: Manifest } | undefined {
  try {
    const header = readHeader(path, stats => trust(path, stats))
    const {
      about: was,
      asked,
      notices,
      indexes,
      checksums,
      indexStats,
      manifest,
    } = header.meta as unknown as Kept
    if (header.kind !== KIND || was !== about) return undefined
    const stats = indexes.map((index, i) => {
      const found = statSync(index)
      trust(index, found)
      if (isDisowned(index, checksums[i])) throw new SourceError(`${index} was found not to fit the data`)
      return found
    })
    if (statsDigest(stats) !== indexStats) return undefined
    if (!wanted?.every(name => asked.includes(name))) return { asked, notices }
    return { asked, notices, manifest: restored(new IndexFile(path, false, header), manifest) as Manifest }
  } catch {
    // There is none, or it is damaged, or an index is gone: the source is opened, and the manifest kept anew.
    return undefined
  }
}

function trust(path: string, stats: Stats): void {
  const foreign = distrust(path, stats)
  if (foreign !== undefined) throw new SourceError(foreign)
}

/**
 * Keeps a manifest. Where that can't be done, the next open takes as long as this one. What was told while an index was made may be
 * of that, and is not to be told again: nothing is kept then.
 */
function write(
  path: string,
  reported: Pick<Kept, 'about' | 'asked' | 'notices'>,
  { manifest, indexes }: Opened<Manifest>,
  start: number,
): void {
  try {
    // Looked at before their headers are read again: an index that is replaced meanwhile does not fit next time.
    const stats = indexes.map(index => statSync(index.path))
    if (reported.notices.length > 0 && stats.some(({ mtimeMs }) => mtimeMs > start - TICK)) return
    if (indexes.some(index => readHeader(index.path).crc !== index.header.crc)) return
    const buffers = new TextBuilder()
    const kept: Kept = {
      ...reported,
      indexes: indexes.map(index => index.path),
      checksums: indexes.map(({ header }) => header.checksum),
      indexStats: statsDigest(stats),
      manifest: packed(manifest, buffers),
    }
    if (buffers.bytes > MOST_KEPT) return
    makeFolder(dirname(path))
    writeIndex(path, KIND, indexes.length, { ...kept }, { buffers })
  } catch {
    // No place for it.
  }
}

function restored(index: IndexFile, manifest: object): Record<string, unknown> {
  const buffers = index.text('buffers')
  return unpacked(manifest, row => {
    const bytes = buffers.bytes(row)
    const shared = new SharedArrayBuffer(bytes.length)
    new Uint8Array(shared).set(bytes)
    return shared
  })
}

/** An object in which buffers, and those of objects in it, are replaced by their rows in a column. */
function packed(object: object, buffers: TextBuilder): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      const array = value instanceof Float64Array
      if (array || value instanceof SharedArrayBuffer) {
        buffers.pushBytes(
          array ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value),
        )
        return [name, { [BUFFER]: buffers.length - 1, array }]
      }
      return [name, isPlain(value) ? packed(value, buffers) : value]
    }),
  )
}

function unpacked(object: object, buffer: (row: number) => SharedArrayBuffer): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      if (!isPlain(value)) return [name, value]
      if (!Object.hasOwn(value, BUFFER)) return [name, unpacked(value, buffer)]
      const { [BUFFER]: row, array } = value as { [BUFFER]: number; array: boolean }
      return [name, array ? new Float64Array(buffer(row)) : buffer(row)]
    }),
  )
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** One file for each set of files and options. */
function nameOf(kind: string, files: readonly DataFile[], options: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify([kind, options]))
  for (const { file } of files) hash.update(`${file}\n`)
  return `${files[0].file}+${files.length - 1}.${hash.digest('hex').slice(0, 12)}`
}

function digestOf(kind: string, files: readonly DataFile[], options: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify([kind, thisMillrace(), options]))
  for (const { file, name, bytes, version } of files) {
    const what =
      typeof version === 'string' ? version : `${version.mtimeMs} ${version.ctimeMs} ${version.ino}`
    hash.update(`${file}\0${name}\0${bytes}\0${what}\n`)
  }
  return hash.digest('hex').slice(0, 32)
}

/** Another version may have manifests of another form; while Millrace is developed, another build may. */
function thisMillrace(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  return `${version} ${statSync(fileURLToPath(import.meta.url)).mtimeMs}`
}

function statsDigest(stats: readonly Stats[]): string {
  const hash = createHash('sha256')
  for (const { size, mtimeMs, ctimeMs, ino } of stats) hash.update(`${size} ${mtimeMs} ${ctimeMs} ${ino}\n`)
  return hash.digest('hex').slice(0, 32)
}
