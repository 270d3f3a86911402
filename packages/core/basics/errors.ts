/**
 * Every error Millrace throws on purpose. Each class has a tag, typed fields that name the culprit, and a
 * message that ends with what to do. Anything else that escapes is a bug of ours.
 */

/**
 * Characters that would do something to a terminal, or to the order in which text is read, instead of being seen: names of
 * files and classes may have them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const UNSEEN = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** A text as it can be printed: what can't be seen is escaped, `\n` and `\x1b`. With `lines`, it may have several. */
export function printable(text: string, lines = false): string {
  return text.replace(UNSEEN, found => {
    if (lines && (found === '\n' || found === '\t')) return found
    if (found === '\n' || found === '\t' || found === '\r') return JSON.stringify(found).slice(1, -1)
    const code = found.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
  })
}

/** The common ancestor: `if (error instanceof MillraceError)` catches all of them. */
export class MillraceError extends Error {
  /** Which kind of error this is; survives the way from a worker thread. */
  readonly tag: string = 'Millrace'
  constructor(message: string, options?: { cause?: unknown }) {
    super(printable(message, true), options)
    this.name = new.target.name
  }
}

/** The definition of a feed is wrong. `path` points into it: `fields.image.apply[0].randomResizedCrop.size`. */
export class DefinitionError extends MillraceError {
  override readonly tag = 'Definition'
  constructor(
    readonly path: string,
    problem: string,
  ) {
    super(path === '' ? problem : `${path}: ${problem}`)
  }
}

/** A source can't be opened or read as a whole: a missing shard, a torn index, a folder without files. */
export class SourceError extends MillraceError {
  override readonly tag: string = 'Source'
  readonly file: string | undefined
  readonly offset: number | undefined
  constructor(message: string, where: { file?: string; offset?: number; cause?: unknown } = {}) {
    // A name with a line break must not look like a line of ours.
    super(where.file === undefined ? message : message.replaceAll(where.file, printable(where.file)), where)
    this.file = where.file
    this.offset = where.offset
  }
}

/** The error about a file. The message begins with its name; `problem` goes on, also with a colon or a comma. */
export function inFile(
  file: string,
  problem: string,
  more: { offset?: number; cause?: unknown } = {},
): SourceError {
  return new SourceError(`${file}${/^[:,]/.test(problem) ? '' : ' '}${problem}`, { file, ...more })
}

/** Data changed underneath: a file is no longer the one that was indexed. No policy for bad samples hides this. */
export class ChangedError extends SourceError {
  override readonly tag = 'Changed'
  constructor(
    message: string,
    where: { file?: string },
    /** The index that lists the file, where it must not be used again. */
    readonly index?: { path: string; checksum: number },
  ) {
    super(message, where)
  }
}

/** Where a bad sample is, in full. */
export interface SampleWhere {
  /** Stable id of the sample: `shard:key`. */
  id: string
  /** The file that holds it, and the byte offset in it. */
  file?: string
  offset?: number
  /** The field that was being made, and the stage at which it failed: read, decode, transform, map, write. */
  field?: string
  stage: string
}

/** One sample is bad. The engine decides by the feed's `onError` what becomes of it. */
export class SampleError extends MillraceError {
  override readonly tag = 'Sample'
  readonly where: SampleWhere
  constructor(where: SampleWhere, problem: string, options?: { cause?: unknown }) {
    const place =
      where.file === undefined
        ? ''
        : ` (${printable(where.file)}${where.offset === undefined ? '' : ` at byte ${where.offset}`})`
    const field = where.field === undefined ? '' : ` of field "${where.field}"`
    super(`sample ${printable(where.id)}${place}: ${where.stage}${field} failed: ${problem}`, options)
    this.where = where
  }
}

/** The bytes of one value can't be decoded. Thrown by decoders, which don't know the sample; becomes a SampleError. */
export class DecodeError extends MillraceError {
  override readonly tag = 'Decode'
}

/** A column has several values in one sample, and a field takes one: the data is right, and to be asked for in another way. */
export class SeveralError extends DecodeError {
  constructor(
    readonly column: string,
    message: string,
  ) {
    super(message)
  }
}

/** A saved state does not fit this feed. */
export class StateError extends MillraceError {
  override readonly tag = 'State'
}

/** A limit of the machine or of the budget is in the way. The message names it and the ways out. */
export class BudgetError extends MillraceError {
  override readonly tag = 'Budget'
}

/** The engine itself failed: a worker that can't be kept alive, a sample that hangs. */
export class EngineError extends MillraceError {
  override readonly tag = 'Engine'
}

/** A library that this feed needs is not installed. The message is the install command. */
export class MissingError extends MillraceError {
  override readonly tag = 'Missing'
}

/** The name closest to `wrong` among `valid`, if it is close enough to be worth proposing. */
export function nearest(wrong: string, valid: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = Math.max(2, Math.floor(wrong.length / 3)) + 1
  for (const name of valid) {
    const d = distance(wrong.toLowerCase(), name.toLowerCase())
    if (d < least) [best, least] = [name, d]
  }
  return best
}

/** Levenshtein distance with transpositions of neighbours counted as one. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2] + 1 : Infinity
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1), swap)
    }
    before = row
    row = next
  }
  return row[b.length]
}
