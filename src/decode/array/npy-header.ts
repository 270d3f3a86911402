/**
 * The header of an .npy file: a Python dict with `descr`, `fortran_order` and `shape`, and nothing else. It is read from
 * left to right, once, as NumPy writes it: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
 */
import { DecodeError } from '../../basics/errors.js'

export interface NpyHeader {
  descr: string
  fortran: boolean
  shape: number[]
}

/** NumPy itself allows 32 dimensions (64 since 2.0). */
const MAX_RANK = 64

/** The one before: arrays of a column mostly have the same header. */
let known: { text: string; header: NpyHeader } | undefined

export function parseNpyHeader(text: string): NpyHeader {
  if (known?.text !== text) known = { text, header: parse(text) }
  const { descr, fortran, shape } = known.header
  return { descr, fortran, shape: shape.slice() } // who gets it may change it
}

function parse(text: string): NpyHeader {
  let at = 0
  const found: { descr?: string; fortran_order?: boolean; shape?: number[] } = {}
  const blanks = (): void => {
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t' || text[at] === '\r') at++
  }
  /** Passes over a mark and the blanks around it, if it is next. */
  const next = (mark: string): boolean => {
    blanks()
    if (!text.startsWith(mark, at)) return false
    at += mark.length
    blanks()
    return true
  }
  const expect = (mark: string): void => {
    if (!next(mark)) throw damaged(text)
  }
  const quoted = (): string => {
    const end = text.indexOf(text[at], at + 1)
    if ((text[at] !== "'" && text[at] !== '"') || end < 0) throw damaged(text)
    const value = text.slice(at + 1, end)
    at = end + 1
    return value
  }
  const truth = (): boolean => {
    if (next('True')) return true
    expect('False')
    return false
  }
  /** `()`, `(3,)`, `(3, 4)`; Python 2 wrote `3L`. */
  const tuple = (): number[] => {
    const numbers: number[] = []
    expect('(')
    while (!next(')')) {
      const from = at
      while (text[at] >= '0' && text[at] <= '9') at++
      if (at === from || at - from > 15 || numbers.length === MAX_RANK) throw damaged(text)
      numbers.push(Number(text.slice(from, at)))
      if (text[at] === 'L') at++
      if (!next(',') && text[at] !== ')') throw damaged(text)
    }
    return numbers
  }

  expect('{')
  while (!next('}')) {
    const key = quoted()
    expect(':')
    if (key === 'descr') {
      if (text[at] === '[') {
        throw new DecodeError(
          'npy array has structured elements: save each of its fields as an array of its own',
        )
      }
      found.descr = quoted()
    } else if (key === 'fortran_order') found.fortran_order = truth()
    else if (key === 'shape') found.shape = tuple()
    else throw damaged(text)
    if (!next(',') && text[at] !== '}') throw damaged(text)
  }
  const { descr, fortran_order: fortran, shape } = found
  if (at < text.length || descr === undefined || fortran === undefined || shape === undefined) {
    throw damaged(text)
  }
  return { descr, fortran, shape }
}

function damaged(text: string): DecodeError {
  return new DecodeError(`npy header is damaged: ${JSON.stringify(text.slice(0, 120))}`)
}
