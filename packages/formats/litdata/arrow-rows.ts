/**
 * Chunks of LitData that keep their rows as Arrow: new versions write samples that are dicts of plain values (numbers,
 * texts, bytes, lists, dicts) so. A chunk has the usual table of offsets, all equal, then an Arrow file. The source of
 * Arrow reads them.
 */
import { inFile } from '../../core/basics/errors.js'
import type { OpenContext } from '../../core/source/source.js'
import { readRange } from '../../core/store/access.js'
import type { Stat } from '../../core/store/store.js'
import type { Stores } from '../../core/store/stores.js'
import type { ArrowManifest } from '../arrow/arrow-source.js'
import { arrowInChunk, CHUNK_END } from '../arrow/metadata/scan.js'
import { openArrowFiles } from '../arrow/open.js'
import { forShards } from '../shards/open-shards.js'

/** A chunk, and how many samples index.json says that it has. */
interface Chunk {
  file: string
  name: string
  samples: number
}

/** Opens chunks that hold Arrow; undefined where they hold samples one by one. */
export async function openArrowRows(
  chunks: readonly Chunk[],
  stats: readonly Stat[],
  context: OpenContext,
  stores: Stores,
): Promise<ArrowManifest | undefined> {
  const holds = await forShards(chunks, ({ file }, i) => holdsArrow(file, stats[i], stores))
  if (!holds.includes(true)) return undefined
  const other = holds.indexOf(false)
  if (other >= 0) {
    const { file } = chunks[other]
    throw inFile(
      file,
      `keeps samples one by one, and ${chunks[holds.indexOf(true)].file} rows as Arrow: a value of another type ` +
        'made LitData change its mind; write the dataset again with values of one type a key',
    )
  }
  const files = chunks.map(({ file, name }, i) => ({ file, name, ...stats[i] }))
  const manifest = await openArrowFiles(files, context, stores)
  manifest.files.forEach(({ file, count }, i) => {
    if (count !== chunks[i].samples)
      throw inFile(
        file,
        `has ${count} rows, its index.json says ${chunks[i].samples}: copy or write them again`,
      )
  })
  return manifest
}

async function holdsArrow(file: string, { bytes, version }: Stat, stores: Stores): Promise<boolean> {
  if (bytes < CHUNK_END) return false
  const end = Buffer.allocUnsafeSlow(CHUNK_END)
  await readRange(stores, { file, offset: bytes - CHUNK_END, length: CHUNK_END, was: version }, end)
  return arrowInChunk(end, bytes) !== undefined
}
