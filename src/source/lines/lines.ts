/** Text files: JSON lines, CSV, and lines as they are. What opens them is loaded by the thread that does. */
import type { CsvJson, PathsJson, TextLinesJson } from '../../define/types.js'
import type { SourceKind } from '../source.js'
import { type LinesManifest, LinesSource } from './lines-source.js'

const attach = (manifest: object): LinesSource => new LinesSource(manifest as LinesManifest)

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
