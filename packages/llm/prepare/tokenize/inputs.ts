/** Which files are tokenised, in which order, and what each of them is. */
import { type Dirent, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import { formatCalled } from '../../../core/define/format.js'
import { describeFiles, expandPattern, type NamedFile } from '../../../core/source/find/data-files.js'
import { formatOf } from '../../../core/source/find/formats.js'
import type { LocalVersion } from '../../../core/store/identity.js'
import { Stores, schemeOf } from '../../../core/store/stores.js'

/** json: lines of JSON; text: a file is a document; lines: a line of text is; rows: rows of a format with columns. */
export type InputKind = 'json' | 'text' | 'lines' | 'rows'

export interface Input {
  file: string
  kind: InputKind
  /** The name of the source that reads rows. */
  format?: string
  /** Compressed as a whole. Formats with columns see to that themselves. */
  codec?: 'gzip' | 'zstd'
  bytes: number
  mtimeMs: number
}

const KINDS: readonly [RegExp, InputKind][] = [
  [/\.(jsonl|ndjson|json)(\.gz|\.zst)?$/i, 'json'],
  [/\.(txt|text)(\.gz|\.zst)?$/i, 'text'],
]
const KNOWN = '.jsonl, .ndjson, .json, .txt (these also .gz or .zst), .parquet, .arrow, .csv, .tsv'

export interface InputOptions {
  root: string
  /** A line of a text file is a document, not the file. */
  lines: boolean
  notice: (text: string) => void
}

/** Files by path, pattern or folder, in the order in which they are named; those of a pattern or folder by name. */
export async function findInputs(
  paths: readonly string[],
  { root, lines, notice }: InputOptions,
): Promise<Input[]> {
  using stores = new Stores()
  const words = { source: 'tokenize', what: 'file' }
  const named: NamedFile[] = []
  for (const path of paths) {
    if (schemeOf(path) !== undefined)
      throw new SourceError(`${path}: copy it to a local disk, or pipe it in (give - for stdin)`)
    const full = resolve(root, path)
    const there = statSync(full, { throwIfNoEntry: false })
    if (there?.isDirectory()) {
      const found = below(full).filter(file => kindOf(file, lines) !== undefined)
      if (found.length === 0)
        throw new SourceError(`${full} has no file to tokenise: known are ${KNOWN}`, { file: full })
      named.push(...found.map(file => ({ file, pattern: path })))
    }
    // The name of a file may look like a pattern.
    else if (there !== undefined) named.push({ file: full, pattern: path })
    else named.push(...(await expandPattern(path, full, stores, words)))
  }
  const seen = new Set<string>()
  return (await describeFiles(named, stores, words)).map(({ file, bytes, version }) => {
    if (seen.has(file)) notice(`${file} is named twice: its documents are in the output twice`)
    seen.add(file)
    const kind = kindOf(file, lines) ?? (lines ? 'lines' : undefined)
    if (kind === undefined)
      throw new SourceError(
        `${file}: its ending does not tell what it is: known are ${KNOWN}; give --lines if each line of it is a document`,
        { file },
      )
    const codec =
      kind === 'rows' ? undefined : /\.gz$/i.test(file) ? 'gzip' : /\.zst$/i.test(file) ? 'zstd' : undefined
    const { mtimeMs } = version as LocalVersion
    const format = kind === 'rows' ? formatOf(file) : undefined
    return { file, kind, ...(format && { format }), ...(codec && { codec }), bytes, mtimeMs }
  })
}

function kindOf(file: string, lines: boolean): InputKind | undefined {
  const kind = KINDS.find(([ending]) => ending.test(file))?.[1]
  if (kind === undefined && formatCalled(formatOf(file) ?? '')?.facts?.table) return 'rows'
  return kind === 'text' && lines ? 'lines' : kind
}

/** All files below a folder, in the order of their paths. Hidden ones are left out; links to folders are not followed. */
function below(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'))
  const key = (entry: Dirent): string => (entry.isDirectory() ? `${entry.name}/` : entry.name)
  entries.sort((a, b) => (key(a) < key(b) ? -1 : 1))
  return entries.flatMap(entry =>
    entry.isDirectory() ? below(join(folder, entry.name)) : [join(folder, entry.name)],
  )
}
