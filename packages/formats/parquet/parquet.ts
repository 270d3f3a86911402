/**
 * Parquet files, as a kind of source. What finds and indexes them (parquet/open.ts) is loaded when a feed is opened: workers
 * attach to what was found.
 */
import type { ParquetJson } from '../../core/define/types.js'
import type { SourceKind } from '../../core/source/source.js'
import { type ParquetManifest, ParquetSource } from './parquet-source.js'

export const parquet: SourceKind<ParquetJson> = {
  open: async (json, context) => (await import('./open.js')).openParquet(json, context),
  attach: manifest => new ParquetSource(manifest as ParquetManifest),
}
