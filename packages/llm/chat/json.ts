/**
 * JSON as Python reads it: the order of keys is kept, integers keep all their digits, and 1.0 is not 1. Templates print tool
 * arguments and schemas again, and what a model learns must be what transformers would print.
 */
import { DecodeError } from '../../core/basics/errors.js'

/** A number with a point or an exponent. */
export class Float {
  constructor(readonly value: number) {}
}

export type JsonObject = Map<string, Json>
export type Json = null | boolean | number | bigint | Float | string | Json[] | JsonObject

/** Levels of lists and objects in each other. */
const DEPTH = 256
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
/** A string with any of these is left to JSON.parse. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a string
const NOT_PLAIN = /[\\\u0000-\u001f]/
const WORDS: readonly [string, Json][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

export function parseJson(text: string): Json {
  const parser = new JsonParser(text)
  const value = parser.value(0)
  parser.end()
  return value
}

class JsonParser {
  private at = 0

  constructor(private readonly text: string) {}

  value(depth: number): Json {
    this.space()
    const { text } = this
    switch (text[this.at]) {
      case '{':
        return this.object(depth + 1)
      case '[':
        return this.list(depth + 1)
      case '"':
        return this.string()
    }
    for (const [word, value] of WORDS) {
      if (!text.startsWith(word, this.at)) continue
      this.at += word.length
      return value
    }
    return this.number()
  }

  end(): void {
    this.space()
    if (this.at < this.text.length) throw this.fault('after the value there is more text')
  }

  private object(depth: number): JsonObject {
    this.deeper(depth)
    const out: JsonObject = new Map()
    if (this.takes('}')) return out
    do {
      this.space()
      if (this.text[this.at] !== '"') throw this.fault('a key in quotes should stand here')
      const key = this.string()
      if (!this.takes(':')) throw this.fault('a colon should stand here')
      const value = this.value(depth)
      // Where a key stands twice, the last value counts, at the place of the first: as in Python.
      out.set(key, value)
    } while (this.takes(','))
    if (!this.takes('}')) throw this.fault('a comma or the end of the object should stand here')
    return out
  }

  private list(depth: number): Json[] {
    this.deeper(depth)
    const out: Json[] = []
    if (this.takes(']')) return out
    do out.push(this.value(depth))
    while (this.takes(','))
    if (!this.takes(']')) throw this.fault('a comma or the end of the list should stand here')
    return out
  }

  private string(): string {
    const { text, at } = this
    let close = text.indexOf('"', at + 1)
    while (close >= 0 && escaped(text, close, at)) close = text.indexOf('"', close + 1)
    if (close < 0) throw this.fault('this string does not end')
    const inner = text.slice(at + 1, close)
    try {
      const value = NOT_PLAIN.test(inner) ? (JSON.parse(text.slice(at, close + 1)) as string) : inner
      this.at = close + 1
      return value
    } catch {
      throw this.fault('this string has a wrong escape or a control character')
    }
  }

  private number(): number | bigint | Float {
    const found = this.matched(NUMBER)
    if (found === undefined || found[0] === '') throw this.fault('a value should stand here')
    const [digits, fraction, exponent] = found
    if (fraction !== undefined || exponent !== undefined) return new Float(Number(digits))
    const value = Number(digits)
    // Python's -0 is 0.
    return Number.isSafeInteger(value) ? value + 0 : BigInt(digits)
  }

  private takes(char: string): boolean {
    this.space()
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  private space(): void {
    this.matched(SPACE)
  }

  private matched(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found === null) return undefined
    this.at += found[0].length
    return found
  }

  private deeper(depth: number): void {
    this.at++
    if (depth > DEPTH) throw this.fault(`lists and objects lie more than ${DEPTH} deep in each other`)
  }

  private fault(problem: string): DecodeError {
    const { text, at } = this
    const seen = at >= text.length ? 'it ends there' : `there is ${JSON.stringify(text.slice(at, at + 40))}`
    return new DecodeError(`this is no JSON: at character ${at} ${problem}, and ${seen}`)
  }
}

/** Whether a quote belongs to the string that begins at `open`. */
function escaped(text: string, quote: number, open: number): boolean {
  let before = quote
  while (before - 1 > open && text[before - 1] === '\\') before--
  return (quote - before) % 2 === 1
}

/** The text of a float as Python's repr writes it: 1.0, 1e-05, 1e+16. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0.0'
  const [mantissa, exponent] = value.toExponential().split('e')
  const power = Number(exponent)
  if (value !== 0 && (power < -4 || power >= 16)) {
    return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  }
  const plain = plainText(mantissa, power)
  return plain.includes('.') ? plain : `${plain}.0`
}

function plainText(mantissa: string, power: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`
  if (digits.length <= power + 1) return sign + digits.padEnd(power + 1, '0')
  return `${sign}${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`
}
