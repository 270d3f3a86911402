/**
 * Memory of a thread in which lines are read and, where they are JSON, the text of a key is found. Bytes are put into `room`, then `next`
 * gives line after line. A line may be as long as the memory can grow.
 *
 *   0         the path of the key, in the form that the kernel wants
 *   STACK     where the kernel keeps what is open
 *   BLOCK     what was read and not yet given out; `capacity` bytes
 *   behind    the text of a line
 */
import { growMemory, kernelMemory, kernelsIn } from '../../../../core/system/memory/kernels.js'

const PAGE = 64 << 10
const LF = 0x0a
const STACK = 32 << 10
const BLOCK = PAGE
/** Bytes that the kernel may read or write behind what it is given. */
const SLACK = 64
/** Bytes that are read at a time: they stay in the processor's cache until they are used. */
export const READ = 1 << 20
/** Bytes of the longest line. */
export const LONGEST = 512 << 20

/** The kernel's word for a line that is right and has no such key. */
const MISSING = -2

interface Code {
  textOf(from: number, to: number, path: number, stack: number, out: number): number
}

const kernel = kernelsIn(new URL('../kernels/', import.meta.url))

export class LineMemory {
  /** Lines given out since `begin`. */
  lines = 0
  /** Offset in the file of the line that was given last. */
  offset = 0
  /** The line that was given last, without its line break. Valid until the next call. */
  private from = BLOCK
  private to = BLOCK
  /** What is not given out yet, and how far no line break was found in it. */
  private at = BLOCK
  private end = BLOCK
  private searched = BLOCK
  /** Offset in the file of `BLOCK`. */
  private base = 0
  private capacity = 2 * READ
  private readonly memory: WebAssembly.Memory
  private readonly code: Code
  private bytes: Buffer
  /** Whether the kernel can look for this key. */
  private readonly literal: boolean
  private readonly nested: boolean

  /** `key`: of lines that are JSON. */
  constructor(private readonly key = '') {
    this.memory = kernelMemory(2 * PAGE)
    this.code = kernel<Code>('json-text', this.memory)
    this.bytes = this.grown()
    const keys = [[key], key.split('.')]
    const words = keys.map(pathOf)
    // U+FFFD in a key is what wrong bytes become: JSON.parse decides.
    const fits = words[0].length + words[1].length <= STACK && !key.includes('\ufffd')
    if (fits) this.bytes.set(Buffer.concat(words))
    this.literal = fits
    this.nested = fits && keys[1].length > 1
    this.second = words[0].length
  }
  private readonly second: number

  /** Forgets everything; what is put in next lies from `offset` on in the file. */
  begin(offset: number): void {
    this.at = this.end = this.searched = BLOCK
    this.base = offset
    this.lines = 0
  }

  /** Where bytes can be put: READ of them at least. */
  room(): Uint8Array {
    if (BLOCK + this.capacity - this.end < READ) {
      const kept = this.end - this.at
      if (kept > this.capacity / 2) {
        this.capacity *= 2
        this.bytes = this.grown()
      } else {
        this.bytes.copyWithin(BLOCK, this.at, this.end)
        this.base += this.at - BLOCK
        this.searched -= this.at - BLOCK
        this.at = BLOCK
        this.end = BLOCK + kept
      }
    }
    return this.bytes.subarray(this.end, BLOCK + this.capacity)
  }

  filled(count: number): void {
    this.end += count
    this.bytes[this.end] = LF // a search ends here
  }

  /** Bytes that were put in and belong to no line yet. */
  get waiting(): number {
    return this.end - this.at
  }

  /** Offset in the file of the line that comes next. */
  get position(): number {
    return this.base + this.at - BLOCK
  }

  /** Passes over bytes that belong to no line. */
  pass(count: number): void {
    this.at += count
    this.searched = Math.max(this.at, this.searched)
  }

  head(most: number): Buffer {
    return this.bytes.subarray(this.at, Math.min(this.at + most, this.end))
  }

  beginsWith(bytes: Uint8Array): boolean {
    return this.waiting >= bytes.length && bytes.every((byte, i) => this.bytes[this.at + i] === byte)
  }

  /** Goes on to the next line; false where more bytes are needed. */
  next(): boolean {
    const found = this.bytes.indexOf(LF, this.searched)
    if (found < 0 || found >= this.end) {
      this.searched = this.end
      return false
    }
    this.give(found, found + 1)
    return true
  }

  /** Nothing more comes: the last line may have no line break. */
  last(): boolean {
    if (this.at >= this.end) return false
    this.give(this.end, this.end)
    return true
  }

  private give(to: number, next: number): void {
    this.offset = this.position
    this.from = this.at
    this.to = to
    this.at = this.searched = next
    this.lines++
  }

  /** The line as it stands there; a carriage return at its end belongs to the line break. */
  get line(): Uint8Array {
    const { bytes, from, to } = this
    const broken = this.at > to
    return bytes.subarray(from, broken && to > from && bytes[to - 1] === 0x0d ? to - 1 : to)
  }

  /** The text of a line of JSON; undefined of a line of blanks. */
  text(): Uint8Array | Fault | undefined {
    const { bytes, code, from, to, capacity } = this
    const out = BLOCK + capacity + SLACK
    if (this.literal) {
      let length = code.textOf(from, to, 0, STACK, out)
      // `a.b` is a key of its own before it is one below another.
      if (length === MISSING && this.nested) length = code.textOf(from, to, this.second, STACK, out)
      if (length >= 0) return bytes.subarray(out, out + length)
    }
    const line = bytes.toString('utf8', from, to)
    if (/^[ \t\r]*$/.test(line)) return undefined
    return textIn(line, this.key)
  }

  /** The memory, as large as the capacity asks for. It is another view then. */
  private grown(): Buffer {
    growMemory(this.memory, BLOCK + 2 * (this.capacity + SLACK))
    return Buffer.from(this.memory.buffer)
  }
}

/** The number of keys; of each the number of its bytes, and these, filled up to four. */
function pathOf(keys: readonly string[]): Buffer {
  const number = (value: number): Buffer => {
    const word = Buffer.alloc(4)
    word.writeUInt32LE(value)
    return word
  }
  return Buffer.concat([
    number(keys.length),
    ...keys.flatMap(key => {
      const bytes = Buffer.from(key)
      return [number(bytes.length), bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]
    }),
  ])
}

/** What is wrong with a document, as the end of a sentence that begins with its place. */
export class Fault {
  constructor(readonly problem: string) {}
}

/** Characters of a line that a message shows. */
const SHOWN = 60
/** A string, or a number that Python's json writes and that is no JSON. */
const STRING_OR_SPECIAL = /"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)/gs

/** `a.b` is the value of `b` in the object `a`, unless there is a key `a.b`. Of a key that stands twice the last one counts. */
export function textIn(line: string, key: string): Buffer | Fault {
  let value: unknown
  try {
    value = parsed(line)
  } catch (error) {
    const spread = /^\s*[[{]\s*$/.test(line)
      ? '; a line must have a whole object: `jq -c .` makes lines of objects that are spread over several'
      : ''
    return new Fault(`is no JSON: ${(error as Error).message}${spread}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Fault(
      `is no JSON object such as {"${key}": "…"}: it begins with ${JSON.stringify(line.slice(0, SHOWN))}` +
        (Array.isArray(value) ? ": `jq -c '.[]'` makes lines of a list" : ''),
    )
  const found = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : below(value, key)
  if (typeof found === 'string') return Buffer.from(found)
  if (found === undefined) return new Fault(`has no "${key}": its keys are ${keysOf(value)}`)
  const type = found === null ? 'null' : Array.isArray(found) ? 'a list' : `a ${typeof found}`
  return new Fault(`has ${type.replace('a object', 'an object')} under "${key}", and not a text`)
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    if (!/NaN|Infinity/.test(line)) throw error
    return JSON.parse(line.replace(STRING_OR_SPECIAL, found => (found[0] === '"' ? found : '0')))
  }
}

function below(object: object, key: string): unknown {
  let value: unknown = object
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part))
      return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

function keysOf(object: object): string {
  const keys = Object.keys(object).slice(0, 8)
  return keys.length === 0 ? 'none' : keys.map(key => JSON.stringify(key)).join(', ')
}
