/**
 * Pairs the rows of sources whose samples are files: row for row those with the same key, the path without its extension
 * (formats/shared/file-key.ts), in the order of the first. Other sources stand beside them by position.
 */
import { runInNewContext } from 'node:vm'
import { SourceError } from '../../basics/errors.js'
import { formatCalled } from '../../define/format.js'
import { hashKey } from '../index/key-hash.js'
import type { Manifest, Source } from '../source.js'

/** Kinds of manifests that stand around another one and keep its keys. */
const AROUND: readonly string[] = ['subset', 'split', 'named', 'pathed', 'valued']
/** Keys that a message names of each kind; the rest is counted. */
const SHOWN = 3
/** Keys that are matched in one go, and the time (ms) that they may take: some patterns take for ever on keys they don't match. */
const AT_ONCE = 1000
const PATTERN_MS = 2000
/** No row has this number: where a key of the first source was not met yet. */
const NONE = 0xffffffff

/** Whether the keys of a source are those of files, not `file:row`. */
export function isNamedByFiles(manifest: Manifest): boolean {
  const { kind, child, children, rows } = manifest as Manifest & {
    child?: Manifest
    children?: Manifest[]
  }
  if (child !== undefined) return AROUND.includes(kind) && isNamedByFiles(child)
  // The keys of a zip are those of its first source.
  if (children !== undefined) return (kind === 'zip' ? children.slice(0, 1) : children).every(isNamedByFiles)
  return formatCalled(kind)?.facts?.namedByFiles === true && rows !== 'axis'
}

/** A source of a zip: its number there, and what its keys are compared by. */
export interface Side {
  number: number
  source: Source
  pattern?: string
}

/** For each side but the first: its rows in the order of the first; undefined where that is its own order. */
export function pairByKey([first, ...others]: readonly Side[]): (Uint32Array | undefined)[] {
  const keys = new Keys(first)
  let known: KeyTable | undefined
  return others.map(side => {
    if (areAlike(keys, new Keys(side))) return undefined
    known ??= new KeyTable(keys)
    return known.rowsOf(new Keys(side))
  })
}

/** The usual case, which needs no table: all keys are equal by position, and ascend, so that none is there twice. */
function areAlike(a: Keys, b: Keys): boolean {
  const { count } = a.source
  if (b.source.count !== count) return false
  let last: string | undefined
  for (let row = 0; row < count; row++) {
    const key = a.at(row)
    if (key !== b.at(row) || (last !== undefined && key <= last)) return false
    last = key
  }
  return true
}

/** What the rows of a side are compared by. */
class Keys {
  readonly source: Source
  readonly number: number
  private readonly test: RegExp | undefined

  constructor(private readonly side: Side) {
    this.source = side.source
    this.number = side.number
    if (side.pattern !== undefined) {
      this.test = new RegExp(`^(?:${side.pattern})$`, 'u')
      this.checkAll()
    }
  }

  at(row: number): string {
    const key = this.source.key(row)
    return this.test === undefined ? key : (this.test.exec(key)?.[1] as string)
  }

  hash(row: number): number {
    return this.test === undefined && this.source.keyHash ? this.source.keyHash(row) : hashKey(this.at(row))
  }

  /** Which keys match. A definition is data: its pattern can't stop the process. */
  private matched(keys: readonly string[]): readonly boolean[] {
    const { number, pattern } = this.side
    try {
      return runInNewContext(
        'keys.map(key => test.test(key))',
        { keys, test: this.test },
        { timeout: PATTERN_MS },
      )
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw cause
      throw new SourceError(
        `zip: the key pattern ${JSON.stringify(pattern)} of source ${number} takes more than ${PATTERN_MS / 1000} s for ` +
          `${keys.length} keys such as "${keys[0]}": write a simpler one, without a repeated group in a repeated group`,
        { cause },
      )
    }
  }

  private checkAll(): void {
    const others = new Shown()
    const { count } = this.source
    for (let from = 0; from < count; from += AT_ONCE) {
      const keys = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) =>
        this.source.key(from + i),
      )
      const found = this.matched(keys)
      keys.forEach((key, i) => {
        if (!found[i]) others.add(key)
      })
    }
    if (others.count > 0)
      throw new SourceError(
        `zip: source ${this.number} has keys that ${JSON.stringify(this.side.pattern)} does not match as a whole: ${others}`,
      )
  }
}

/**
 * Rows by key: open addressing, 8 bytes a slot, 12 to 24 bytes a key. A slot has the row's number plus one, and 32 bits of the hash; where
 * these are equal, the keys themselves are compared.
 */
class KeyTable {
  private readonly rows: Uint32Array
  private readonly marks: Uint32Array

  constructor(private readonly keys: Keys) {
    const { count } = keys.source
    if (count >= NONE) throw new SourceError(`zip: ${count} files are too many to be paired by their keys`)
    const slots = 2 ** Math.ceil(Math.log2(1.5 * count + 2))
    this.rows = new Uint32Array(slots)
    this.marks = new Uint32Array(slots)
    const twice = new Shown()
    for (let row = 0; row < count; row++) {
      const hash = keys.hash(row)
      const slot = this.slotOf(hash, () => keys.at(row))
      if (this.rows[slot] > 0) twice.add(twiceText(keys, this.rows[slot] - 1, row))
      else {
        this.rows[slot] = row + 1
        this.marks[slot] = hash
      }
    }
    refuseTwice(keys, twice)
  }

  /** The rows of another side in the order of this one; undefined where that is its own. */
  rowsOf(other: Keys): Uint32Array | undefined {
    const { count } = this.keys.source
    const rows = new Uint32Array(new SharedArrayBuffer(4 * count)).fill(NONE)
    const [twice, only, missing] = [new Shown(), new Shown(), new Shown()]
    for (let row = 0; row < other.source.count; row++) {
      const at = this.rows[this.slotOf(other.hash(row), () => other.at(row))] - 1
      if (at < 0) only.add(other.source.id(row))
      else if (rows[at] !== NONE) twice.add(twiceText(other, rows[at], row))
      else rows[at] = row
    }
    refuseTwice(other, twice)
    rows.forEach((row, at) => {
      if (row === NONE) missing.add(this.keys.source.id(at))
    })
    if (only.count + missing.count > 0) throw unequal(this.keys.number, missing, other.number, only)
    return rows.every((row, at) => row === at) ? undefined : rows
  }

  /** The slot of a key: where it is, or where it would be entered. */
  private slotOf(hash: number, key: () => string): number {
    const { rows, marks } = this
    const mark = hash >>> 0
    let slot = hash % rows.length
    let text: string | undefined
    while (rows[slot] > 0) {
      if (marks[slot] === mark && this.keys.at(rows[slot] - 1) === (text ??= key())) return slot
      slot = (slot + 1) % rows.length
    }
    return slot
  }
}

/** The first of many texts, and how many there are. */
class Shown {
  count = 0
  private readonly texts: string[] = []

  add(text: string): void {
    if (this.count++ < SHOWN) this.texts.push(text)
  }

  toString(): string {
    const more = this.count - this.texts.length
    return `${this.texts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  }
}

function twiceText(keys: Keys, row: number, again: number): string {
  return `"${keys.at(row)}" (${keys.source.id(row)}, ${keys.source.id(again)})`
}

const BY_POSITION =
  'If the sources are in the same order, pair them by position: {"zip": {"sources": […], "by": "position"}}'

function refuseTwice({ number }: Keys, twice: Shown): void {
  if (twice.count === 0) return
  throw new SourceError(
    `zip: files are paired by their keys, the paths without extension, and source ${number} has several with one key: ${twice}. ` +
      `Name the files of one kind, as in "**/*.png". ${BY_POSITION}`,
  )
}

function unequal(first: number, missing: Shown, other: number, only: Shown): SourceError {
  const side = (number: number, shown: Shown): string[] =>
    shown.count === 0 ? [] : [`only source ${number} has ${shown}`]
  return new SourceError(
    'zip: files are paired by their keys, the paths without extension relative to the source, and these find no other: ' +
      `${[...side(first, missing), ...side(other, only)].join('; ')}. Leave them out, as a list or "subset" does, or say ` +
      'what is equal in the names that belong together, as in "key": ["(.*)_leftImg8bit", "(.*)_gtFine_labelIds"]',
  )
}
