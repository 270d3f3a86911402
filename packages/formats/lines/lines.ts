/** Text files: JSON lines, CSV, and lines as they are. What opens them is loaded by the thread that does. */
import type { CsvJson, PathsJson, TextLinesJson } from '../../core/define/types.js'
import type { Manifest, Source, SourceKind } from '../../core/source/source.js'
import { CompressedLines } from './compressed-lines.js'
import { type LinesManifest, LinesSource } from './lines-source.js'

function attach(manifest: Manifest): Source {
  const { unitStarts } = manifest as LinesManifest
  if (unitStarts === undefined) return new LinesSource(manifest as LinesManifest)
  return new CompressedLines(manifest as LinesManifest, unitStarts)
}

export const jsonl: SourceKind<PathsJson | { path: PathsJson }> = {
  open: async (json, context) => (await import('./open.js')).openJsonLines(json, context),
  attach,
}

export const csv: SourceKind<PathsJson | CsvJson> = {
  open: async (json, context) => (await import('./open.js')).openCsv(json, context),
  attach,
}

export const text: SourceKind<PathsJson | TextLinesJson> = {
  open: async (json, context) => (await import('./open.js')).openText(json, context),
  attach,
}
