/**
 * The header of an .npy file: a Python dict with `descr`, `fortran_order` and `shape`, and nothing else. It is read from
 * left to right, once, as NumPy writes it: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Structured
 * elements have a list: `[('x', '<f4'), ('rgb', '|u1', (3,)), ('inner', [('a', '<i2')])]`.
 */
import { DecodeError } from '../errors.js'

export interface NpyHeader {
  descr: Descr
  fortran: boolean
  shape: number[]
}

/** The type of an element: `'<f4'`, or its fields. */
export type Descr = string | readonly DescrField[]

export interface DescrField {
  name: string
  descr: Descr
  /** A field may be an array itself. */
  shape: readonly number[]
}

/** NumPy itself allows 32 dimensions (64 since 2.0). */
const MAX_RANK = 64
/** Fields within fields: NumPy writes no deeper ones that people use. */
const MAX_DEPTH = 8

/** The one before: arrays of a column mostly have the same header. */
let known: { text: string; header: NpyHeader } | undefined

export function parseNpyHeader(text: string): NpyHeader {
  if (known?.text !== text) known = { text, header: parse(text) }
  const { descr, fortran, shape } = known.header
  return { descr, fortran, shape: shape.slice() } // the caller may change it
}

function parse(text: string): NpyHeader {
  const reader = new DictReader(text)
  const found: { descr?: Descr; fortran_order?: boolean; shape?: number[] } = {}
  reader.entries(key => {
    if (key === 'descr') found.descr = reader.element()
    else if (key === 'fortran_order') found.fortran_order = reader.truth()
    else if (key === 'shape') found.shape = reader.tuple()
    else throw damaged(text)
  })
  const { descr, fortran_order: fortran, shape } = found
  if (descr === undefined || fortran === undefined || shape === undefined) throw damaged(text)
  return { descr, fortran, shape }
}

/** Reads a Python dict from left to right. What it does not expect is damage. */
class DictReader {
  private at = 0

  constructor(private readonly text: string) {}

  /** Goes through the whole text, `{'key': value, …}`; `read` reads each value. */
  entries(read: (key: string) => void): void {
    this.expect('{')
    while (!this.next('}')) {
      const key = this.quoted()
      this.expect(':')
      read(key)
      if (!this.next(',') && this.text[this.at] !== '}') throw damaged(this.text)
    }
    if (this.at < this.text.length) throw damaged(this.text)
  }

  /** The type of an element: `'<f4'`, or a list of fields. */
  element(depth = 0): Descr {
    if (!this.next('[')) return this.quoted()
    if (depth === MAX_DEPTH) throw damaged(this.text)
    const fields: DescrField[] = []
    while (!this.next(']')) {
      fields.push(this.field(depth))
      if (!this.next(',') && this.text[this.at] !== ']') throw damaged(this.text)
    }
    return fields
  }

  /** `('x', '<f4')`, `('x', '<f4', (2, 3))`, `(('title', 'x'), '<f4')`. */
  private field(depth: number): DescrField {
    this.expect('(')
    const name = this.fieldName()
    this.expect(',')
    const descr = this.element(depth + 1)
    let shape: number[] = []
    if (this.next(',') && !this.text.startsWith(')', this.at))
      shape = this.text[this.at] === '(' ? this.tuple() : [this.number()]
    this.expect(')')
    return { name, descr, shape }
  }

  private fieldName(): string {
    if (!this.next('(')) return this.quoted()
    this.quoted() // a title
    this.expect(',')
    const name = this.quoted()
    this.expect(')')
    return name
  }

  truth(): boolean {
    if (this.next('True')) return true
    this.expect('False')
    return false
  }

  /** `()`, `(3,)`, `(3, 4)`. */
  tuple(): number[] {
    const { text } = this
    const numbers: number[] = []
    this.expect('(')
    while (!this.next(')')) {
      if (numbers.length === MAX_RANK) throw damaged(text)
      numbers.push(this.number())
      if (!this.next(',') && text[this.at] !== ')') throw damaged(text)
    }
    return numbers
  }

  /** Python 2 wrote `3L`. */
  private number(): number {
    const { text } = this
    const from = this.at
    while (text[this.at] >= '0' && text[this.at] <= '9') this.at++
    if (this.at === from || this.at - from > 15) throw damaged(text)
    const number = Number(text.slice(from, this.at))
    if (text[this.at] === 'L') this.at++
    return number
  }

  private quoted(): string {
    const { text, at } = this
    const end = text.indexOf(text[at], at + 1)
    if ((text[at] !== "'" && text[at] !== '"') || end < 0) throw damaged(text)
    this.at = end + 1
    return text.slice(at + 1, end)
  }

  private expect(mark: string): void {
    if (!this.next(mark)) throw damaged(this.text)
  }

  /** Passes over a mark and the blanks around it, if it is next. */
  private next(mark: string): boolean {
    this.passBlanks()
    if (!this.text.startsWith(mark, this.at)) return false
    this.at += mark.length
    this.passBlanks()
    return true
  }

  private passBlanks(): void {
    while (' \n\t\r'.includes(this.text[this.at] ?? 'x')) this.at++
  }
}

function damaged(text: string): DecodeError {
  return new DecodeError(`npy header is damaged: ${JSON.stringify(text.slice(0, 120))}`)
}
