/**
 * A template in tokens, by Jinja's rules with `trim_blocks` and `lstrip_blocks`, as transformers sets them. Every character is
 * looked at a bounded number of times.
 */
import { SPACE, stripRight } from './builtins/text.js'

export interface Token {
  /** `text` stands outside of tags. `tag` and `print` begin `{%` and `{{`, `end` ends either. `eof` is behind all. */
  type: 'text' | 'tag' | 'print' | 'end' | 'name' | 'integer' | 'float' | 'string' | 'operator' | 'eof'
  value: string
  line: number
}

const OPENS = /\{[%{#]/g
const INSIDE = new RegExp(`[${SPACE}]+`, 'y')
const FLOAT = /\d[\d_]*(?:(?:\.\d[\d_]*)?[eE][+-]?\d[\d_]*|\.\d[\d_]*)/y
const INTEGER = /0[bB][01_]+|0[oO][0-7_]+|0[xX][\da-fA-F_]+|\d[\d_]*/y
const NAME = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*/uy
const OPERATOR = /\/\/|\*\*|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/y
const RAW = new RegExp(`\\{%[-+]?[${SPACE}]*raw[${SPACE}]*-?%\\}`, 'y')
const END_RAW = new RegExp(`\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*([-+]?)%\\}`, 'g')
const CLOSING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/** What a tag ends with, by what it begins with. */
const ENDS: Readonly<Record<string, string>> = { '%': '%}', '{': '}}', '#': '#}' }

export function lex(template: string): Token[] {
  // Python's text files have one kind of line ends, and Jinja leaves out the last.
  const source = template.replace(/\r\n?/g, '\n').replace(/\n$/, '')
  const tokens: Token[] = []
  /** Of the text that is next: where it begins; whether what stands before it ended a line. */
  let [at, fresh, line] = [0, true, 1]
  const breakFrom = (place: number): number => {
    const found = source.indexOf('\n', place)
    return found < 0 ? source.length : found
  }
  /** Where the present line ends: looked for once a line, not once a token. */
  let lineEnd = breakFrom(0)
  const lineAt = (place: number): number => {
    for (; lineEnd < place; line++) lineEnd = breakFrom(lineEnd + 1)
    return line
  }
  const push = (type: Token['type'], value: string): void => {
    tokens.push({ type, value, line: lineAt(at) })
  }
  const matched = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    return found === null ? undefined : found[0]
  }

  while (at < source.length) {
    OPENS.lastIndex = at
    const found = OPENS.exec(source)
    if (found === null) {
      push('text', source.slice(at))
      break
    }
    const kind = source[found.index + 1]
    const sign = source[found.index + 2]
    const text = stripped(source.slice(at, found.index), sign, kind)
    if (text !== '') push('text', text)
    at = found.index
    if (kind === '#') comment()
    else if (kind === '%' && matched(RAW) !== undefined) raw(matched(RAW)!)
    else {
      push(kind === '%' ? 'tag' : 'print', '')
      at += sign === '-' || sign === '+' ? 3 : 2
      tag(ENDS[kind])
    }
  }
  push('eof', '')
  return tokens

  /** The text before a tag, without what its sign or `lstrip_blocks` takes. */
  function stripped(text: string, sign: string, kind: string): string {
    if (sign === '-') return stripRight(text)
    if (sign === '+' || kind === '{') return text
    const begin = text.lastIndexOf('\n') + 1
    return (begin > 0 || fresh) && stripRight(text.slice(begin)) === '' ? text.slice(0, begin) : text
  }

  /** Goes behind the end of a tag, and what its sign or `trim_blocks` takes. */
  function behind(place: number, minus: boolean, trims: boolean): void {
    at = place
    if (minus) at += matched(INSIDE)?.length ?? 0
    else if (trims && source[at] === '\n') at++
    fresh = source[at - 1] === '\n'
  }

  function comment(): void {
    const end = source.indexOf('#}', at + 2)
    if (end < 0) throw new Error(`line ${lineAt(at)}: a comment does not end`)
    const sign = end > at + 2 ? source[end - 1] : ''
    behind(end + 2, sign === '-', true)
  }

  function raw(open: string): void {
    behind(at + open.length, open.endsWith('-%}'), false)
    END_RAW.lastIndex = at
    const end = END_RAW.exec(source)
    if (end === null) throw new Error(`line ${lineAt(at)}: {% raw %} does not end`)
    const text = stripped(source.slice(at, end.index), end[1], '%')
    if (text !== '') push('text', text)
    behind(end.index + end[0].length, end[2] === '-', end[2] === '')
  }

  function tag(end: string): void {
    const open: string[] = []
    for (;;) {
      at += matched(INSIDE)?.length ?? 0
      if (at >= source.length) throw new Error(`line ${lineAt(at)}: a tag does not end with ${end}`)
      if (open.length === 0) {
        const minus = source.startsWith(`-${end}`, at)
        const plus = end === '%}' && source.startsWith(`+${end}`, at)
        if (minus || plus || source.startsWith(end, at)) {
          push('end', '')
          behind(at + end.length + (minus || plus ? 1 : 0), minus, end === '%}' && !plus)
          return
        }
      }
      if (source[at] === "'" || source[at] === '"') string()
      else if (!take(FLOAT, 'float') && !take(INTEGER, 'integer') && !take(NAME, 'name')) {
        const operator = matched(OPERATOR)
        if (operator === undefined)
          throw new Error(`line ${lineAt(at)}: ${JSON.stringify(source[at])} can't stand here`)
        if ('([{'.includes(operator)) open.push(operator)
        else if (operator in CLOSING && open.pop() !== CLOSING[operator])
          throw new Error(`line ${lineAt(at)}: "${operator}" closes nothing`)
        push('operator', operator)
        at += operator.length
      }
    }
  }

  function take(pattern: RegExp, type: Token['type']): boolean {
    // `a.0.1` are two numbers.
    if (type === 'float' && source[at - 1] === '.') return false
    const value = matched(pattern)
    if (value === undefined) return false
    push(type, value)
    at += value.length
    return true
  }

  function string(): void {
    const quote = source[at]
    let end = at + 1
    while (end < source.length && source[end] !== quote) end += source[end] === '\\' ? 2 : 1
    if (end >= source.length) throw new Error(`line ${lineAt(at)}: a text in quotes does not end`)
    push('string', unescaped(source.slice(at + 1, end)))
    at = end + 1
  }
}

const ESCAPE = /\\(?:\n|([\\'"abfnrtv])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/g
const LETTERS: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** Escapes of Python; a backslash before another character stays. */
function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, letter?: string, octal?: string, ...hex: (string | undefined)[]) => {
    if (letter !== undefined) return LETTERS[letter] ?? letter
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
    const digits = hex.slice(0, 3).find(part => part !== undefined)
    return digits === undefined ? '' : String.fromCodePoint(Number.parseInt(digits, 16))
  })
}

/** Levels of expressions and blocks in each other. */
const MOST_LEVELS = 200

const NAMES: Readonly<Record<Token['type'], string>> = {
  text: 'text',
  tag: 'a tag',
  print: 'a tag',
  end: 'the end of the tag',
  name: 'a name',
  integer: 'a number',
  float: 'a number',
  string: 'a text in quotes',
  operator: 'an operator',
  eof: 'the end of the template',
}

export class TokenReader {
  protected at = 0
  private levels = 0
  constructor(protected readonly tokens: readonly Token[]) {}

  protected get token(): Token {
    return this.tokens[this.at]
  }

  protected next(): Token {
    return this.tokens[this.at++]
  }

  protected is(type: Token['type'], value?: string): boolean {
    return this.token.type === type && (value === undefined || this.token.value === value)
  }

  protected takes(type: Token['type'], value?: string): boolean {
    if (!this.is(type, value)) return false
    this.at++
    return true
  }

  protected expect(type: Token['type'], value?: string): string {
    if (!this.is(type, value))
      throw this.fault(value === undefined ? `${NAMES[type]} should stand` : `"${value}" should stand`)
    return this.next().value
  }

  protected fault(problem: string): Error {
    const { type, value, line } = this.token
    return new Error(
      `line ${line}: ${problem} here, and there is ${value === '' || type === 'text' ? NAMES[type] : JSON.stringify(value.slice(0, 40))}`,
    )
  }

  /** Parses what may stand in itself. */
  protected deeper<T>(parse: () => T): T {
    if (++this.levels > MOST_LEVELS) throw this.fault(`more than ${MOST_LEVELS} levels lie in each other`)
    const parsed = parse()
    this.levels--
    return parsed
  }
}
