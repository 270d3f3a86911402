/**
 * Text in pieces that are tokenised one by one. Names of special tokens in what people wrote would become those tokens, as if the
 * template had written them. Where contents are to stay text, such names stand between marks while the template is rendered,
 * and become pieces of their own, which are tokenised as plain text.
 */
import type { Json } from './json.js'

export interface Piece {
  text: string
  /** Tokens that the vocabulary was given besides (special ones, too) are not looked for in it. */
  literal: boolean
}

export interface ContentMarks {
  open: string
  close: string
  names: readonly string[]
}

/** The same value, with the names in its texts between marks. Keys of objects stay as they are. */
export function markContents(json: Json, marks: ContentMarks): Json {
  if (marks.names.length === 0) return json
  const pattern = new RegExp(alternatives(marks.names), 'g')
  const mark = (value: Json): Json => {
    if (typeof value === 'string') return value.replace(pattern, name => marks.open + name + marks.close)
    if (Array.isArray(value)) return value.map(mark)
    return value instanceof Map ? new Map(Array.from(value, ([key, item]) => [key, mark(item)])) : value
  }
  return mark(json)
}

/** Cuts a text at its marks. A template may part two marks; one that stands alone only ends a piece. */
export function split(
  text: string,
  spans: [number, number][],
  { open, close, names }: ContentMarks,
): { pieces: Piece[]; spans: [number, number][] } {
  if (names.length === 0) return { pieces: [{ text, literal: false }], spans }
  const pattern = new RegExp(`${open}(${alternatives(names)})${close}|[${open}${close}]`, 'g')
  const pieces: Piece[] = []
  /** Where marks stood, in order. */
  const cuts: number[] = []
  let done = 0
  const add = (text: string, literal: boolean) => {
    if (text !== '') pieces.push({ text, literal })
  }
  for (const found of text.matchAll(pattern)) {
    add(text.slice(done, found.index), false)
    done = found.index + found[0].length
    cuts.push(found.index)
    if (found[1] === undefined) continue
    cuts.push(done - 1)
    add(found[1], true)
  }
  add(text.slice(done), false)
  const moved = (at: number) => at - cuts.filter(cut => cut < at).length
  return { pieces, spans: spans.map(([from, to]) => [moved(from), moved(to)]) }
}

/** The longest first, so that a name goes before those that it contains. */
function alternatives(names: readonly string[]): string {
  return Array.from(names)
    .sort((a, b) => b.length - a.length)
    .map(name => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|')
}
