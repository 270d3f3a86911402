/** Text files: JSON lines, CSV, and lines as they are. */
import { wrong } from '../../core/basics/mistakes.js'
import {
  boolean,
  either,
  isObject,
  list,
  object,
  oneOf,
  optional,
  type Parser,
  record,
  text,
} from '../../core/basics/shape.js'
import { paths } from '../../core/define/check/paths.js'
import type { Format } from '../../core/define/format.js'
import type { PathsJson, SourceJson } from '../../core/define/types.js'
import { oneOrMore, withOptions } from '../paths.js'
import type { CsvType } from './csv/types.js'
import type { CsvOptions, LinesTypes, TextOptions } from './open.js'

declare module '../../core/define/types.js' {
  interface FormatTypes extends LinesTypes {}
}

/** CSV and TSV files: a record is a sample, its cells are the columns. */
export const csv = (path: PathsJson, options: CsvOptions = {}): SourceJson => ({
  csv: withOptions(path, options),
})

/** JSON lines: an object in each line is a sample, its keys are the columns. */
export const jsonl = (...paths: string[]): SourceJson => ({ jsonl: oneOrMore(paths) })

/** Lines of text files: columns text and line. */
export const textLines = (path: PathsJson, options: TextOptions = {}): SourceJson => ({
  text: withOptions(path, options),
})

const TYPES: readonly CsvType[] = ['int', 'float', 'bool', 'text']

const delimiter: Parser<string> = (value, path) => {
  const one = text(value, path)
  if (one.length === 1 && one.charCodeAt(0) < 128 && !/["\n\r]/.test(one)) return one
  throw wrong(path, 'one ASCII character, such as ";" or "\\t"', value)
}

export const jsonlFormat: Format<LinesTypes['jsonl']> = {
  name: 'jsonl',
  says: 'JSON lines: the object in a line is a sample.',
  example: 'train-*.jsonl.gz',
  shape: either(isObject, object({ path: paths }), paths),
  finds: { names: /\.(jsonl|ndjson)(\.gz|\.zst)?$/i, many: true },
  facts: {
    moreColumns: true,
    python: {
      says: 'JSON lines: an object in each line is a sample, its keys are the columns. ``"a.b"`` is ``b`` in the object ``a``.',
    },
  },
  load: async () => (await import('./open.js')).jsonl,
}

export const csvFormat: Format<LinesTypes['csv']> = {
  name: 'csv',
  says: 'CSV and TSV files: a record is a sample.',
  example: { path: 'train.csv', types: { id: 'text' } },
  shape: either(
    isObject,
    object({
      path: paths,
      delimiter: optional(delimiter),
      header: optional(boolean),
      columns: optional(list(text, 'a list of names', { min: 1 })),
      types: optional(record(oneOf(TYPES, 'type'), 'types by column, such as {"id": "text"}')),
    }),
    paths,
  ),
  finds: { names: /\.[ct]sv(\.gz|\.zst)?$/i },
  facts: {
    table: true,
    python: {
      says: 'CSV and TSV files: a record is a sample, its cells are the columns. ``columns`` names them where the file has no header. ``types`` declares ``"int"``, ``"float"``, ``"bool"`` or ``"text"``; of the other columns the first rows decide.',
      options: {
        delimiter: 'str',
        header: 'bool',
        columns: 'Sequence[str]',
        types: 'Mapping[str, str]',
      },
    },
  },
  load: async () => (await import('./open.js')).csv,
}

export const textFormat: Format<LinesTypes['text']> = {
  name: 'text',
  says: 'Text files: a line is a sample.',
  example: 'corpus/*.txt',
  shape: either(
    isObject,
    object({ path: paths, blankLines: optional(oneOf(['keep', 'skip'], 'choice')) }),
    paths,
  ),
  facts: {
    python: {
      name: 'text_lines',
      says: 'Lines of text files: columns ``text`` and ``line``. ``blank_lines="skip"`` leaves out lines that are empty, or have nothing but blanks.',
      options: {
        blankLines: 'str',
      },
    },
  },
  load: async () => (await import('./open.js')).text,
}
