/** `text % values` and `text.format(…)`, as far as templates use them. */
import { Float } from '../../json.js'
import { type Meter, Output } from '../meter.js'
import { integer, isNumber, isText, type List, numberOf, str, typeOf, type Value } from '../values.js'
import type { Args } from './calls.js'

const FORMAT = /%(?:%|([-+ 0#]*)(\d*)(?:\.(\d+))?([sdifFrxXeg]))/g

/** `text % values`, with the conversions that templates use. */
export function formatted(meter: Meter, text: string, values: List): string {
  let next = 0
  meter.charge(16 * text.length)
  const parts = text.split(FORMAT)
  const out: string[] = []
  for (let i = 0; i < parts.length; i += 5) {
    out.push(parts[i] ?? '')
    if (parts[i]?.includes('%'))
      throw new Error(`the format ${JSON.stringify(text.slice(0, 80))} is not known here`)
    if (i + 1 >= parts.length) break
    const [flags, width, precision, letter] = parts.slice(i + 1, i + 5) as (string | undefined)[]
    if (letter === undefined) {
      out.push('%')
      continue
    }
    if (next >= values.length) throw new Error('a format has not enough values')
    const one = converted(meter, values[next++], letter, flags ?? '', precision)
    const room = Math.max(one.length, Number(width))
    meter.text(room)
    if (flags?.includes('-')) out.push(one.padEnd(room))
    else if (flags?.includes('0') && letter !== 's')
      out.push(/^[-+]/.test(one) ? one[0] + one.slice(1).padStart(room - 1, '0') : one.padStart(room, '0'))
    else out.push(one.padStart(room))
  }
  if (next < values.length) throw new Error('a format has too many values')
  return out.join('')
}

function converted(meter: Meter, value: Value, letter: string, flags: string, precision?: string): string {
  if (letter === 's') {
    const text = str(meter, value)
    return precision === undefined ? text : text.slice(0, Number(precision))
  }
  if (letter === 'r') return str(meter, [value]).slice(1, -1)
  if (!isNumber(value)) throw new Error(`%${letter} wants a number, and got ${typeOf(value)}`)
  if (letter === 'e' || letter === 'g' || Number(precision) > 100)
    throw new Error(`the format %${letter} is not known here`)
  const number = numberOf(value)
  const sign = flags.includes('+') && number >= 0 ? '+' : ''
  if (letter === 'd' || letter === 'i')
    return sign + (value instanceof Float ? integer(Math.trunc(number)) : BigInt(value)).toString()
  if (letter === 'f' || letter === 'F') return sign + number.toFixed(Number(precision ?? 6))
  const hex = number.toString(16)
  return letter === 'X' ? hex.toUpperCase() : hex
}

/** `strict`: the items must be texts. */
export function joined(meter: Meter, items: List, between: string, strict = false): string {
  const out = new Output(meter)
  items.forEach((item, i) => {
    if (strict && !isText(item)) throw new Error(`join() wants texts, and got ${typeOf(item)}`)
    if (i > 0 && between !== '') out.add(between)
    out.add(str(meter, item))
  })
  return out.text()
}

/** `text.format(…)`, without conversions. */
export function braces(meter: Meter, text: string, { list, named }: Args): string {
  let next = 0
  meter.charge(16 * text.length)
  const parts = text.split(/(\{\{|\}\}|\{\w*\})/)
  return joined(
    meter,
    parts.map((part, i) => {
      if (i % 2 === 0) {
        if (/[{}]/.test(part))
          throw new Error(`the format ${JSON.stringify(text.slice(0, 80))} is not known here`)
        return part
      }
      if (part === '{{' || part === '}}') return part[0]
      const name = part.slice(1, -1)
      const value = name === '' ? list[next++] : /^\d+$/.test(name) ? list[Number(name)] : named.get(name)
      if (value === undefined) throw new Error(`format() has no value for ${part}`)
      return formatted(meter, '%s', [value])
    }),
    '',
  )
}
