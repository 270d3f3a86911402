/** Functions that every template may call. */
import { DecodeError } from '../../../../core/basics/errors.js'
import type { Meter } from '../meter.js'
import {
  Attributed,
  type Call,
  Func,
  isDict,
  isInteger,
  itemsOf,
  type Key,
  keyOf,
  Namespace,
  str,
  typeOf,
  type Value,
  View,
} from '../values.js'

/** What `raise_exception` of a template said. */
class TemplateRefusal extends DecodeError {}

/** Numbers that `range` of a template may give. */
const RANGE = 1_000_000

/** `now`: the date that templates write, which is never the clock's. */
export function globalsOf(meter: Meter, now: string | undefined): Map<string, Value> {
  const dict: Call = ([from], named) => {
    const out = new Map<Key, Value>()
    const pairs = from === undefined || isDict(from) ? (from ?? out) : itemsOf(meter, from)
    if (isDict(pairs as Value)) {
      const given = pairs as ReadonlyMap<Key, Value>
      meter.items(2 * given.size)
      for (const [key, value] of given) out.set(key, value)
    } else
      for (const pair of pairs as Value[]) {
        const [key, value, ...more] = itemsOf(meter, pair)
        if (key === undefined || value === undefined || more.length > 0) throw new Error('dict() wants pairs')
        meter.items(2)
        out.set(keyOf(key), value)
      }
    for (const [key, value] of named) out.set(key, value)
    return out
  }
  const functions: Record<string, Call> = {
    raise_exception: ([message]) => {
      throw new TemplateRefusal(
        `the chat template refuses it: ${message === undefined ? '' : str(meter, message)}`,
      )
    },
    strftime_now: ([format]) => strftime(now, str(meter, format ?? '')),
    range: args => range(meter, args),
    dict,
    namespace: (args, named) => new Namespace(new Map(dict(args, named) as Map<string, Value>)),
    cycler: items => cycler(items),
    joiner: ([separator = ', ']) => {
      let used = false
      return new Func(() => {
        if (used) return separator
        used = true
        return ''
      })
    },
  }
  return new Map(Object.entries(functions).map(([name, call]) => [name, new Func(call)]))
}

function cycler(items: readonly Value[]): Value {
  if (items.length === 0) throw new Error('cycler() wants values')
  let at = 0
  const current = () => items[at % items.length]
  const members: Readonly<Record<string, () => Value>> = {
    current,
    next: () =>
      new Func(() => {
        const item = current()
        at = (at + 1) % items.length
        return item
      }),
    reset: () => new Func(() => (at = 0) || null),
  }
  return new Attributed(name => (Object.hasOwn(members, name) ? members[name]() : undefined))
}

function range(meter: Meter, args: readonly Value[]): Value {
  const numbers = args.map(value => {
    if (!isInteger(value) && typeof value !== 'boolean')
      throw new Error(`range() wants integers, and got ${typeOf(value)}`)
    return Number(value)
  })
  if (numbers.length < 1 || numbers.length > 3) throw new Error('range() wants one to three integers')
  const [from, to, by = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers
  if (by === 0) throw new Error('range() wants a step other than 0')
  const count = Math.max(0, Math.ceil((to - from) / by))
  if (count > RANGE) throw new DecodeError(`the chat template asks for a range of ${count} numbers`)
  meter.charge(8 * count)
  const text = `range(${[from, to, ...(by === 1 ? [] : [by])].join(', ')})`
  return new View(
    'range',
    Array.from({ length: count }, (_, i) => from + i * by),
    text,
  )
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

/** `strftime_now` for a given moment, such as "2024-07-26" or "2024-07-26T09:30:00"; there is no time zone in it. */
function strftime(now: string | undefined, format: string): string {
  if (now === undefined)
    throw new DecodeError(
      'the template writes today\'s date: say which, so that tokens do not depend on the day they are made: "now": "2024-07-26"',
    )
  const date = new Date(`${now.length === 10 ? `${now}T00:00:00` : now.replace(' ', 'T')}Z`)
  if (Number.isNaN(date.getTime())) throw new DecodeError(`"now": "${now}" is no date`)
  const [hour, month, day] = [date.getUTCHours(), date.getUTCMonth(), date.getUTCDate()]
  const start = Date.UTC(date.getUTCFullYear(), 0, 1)
  const two = (value: number) => String(value).padStart(2, '0')
  const parts: Record<string, () => string> = {
    Y: () => String(date.getUTCFullYear()).padStart(4, '0'),
    y: () => two(date.getUTCFullYear() % 100),
    m: () => two(month + 1),
    d: () => two(day),
    e: () => String(day).padStart(2, ' '),
    b: () => MONTHS[month].slice(0, 3),
    h: () => MONTHS[month].slice(0, 3),
    B: () => MONTHS[month],
    a: () => WEEKDAYS[date.getUTCDay()].slice(0, 3),
    A: () => WEEKDAYS[date.getUTCDay()],
    H: () => two(hour),
    I: () => two(hour % 12 || 12),
    p: () => (hour < 12 ? 'AM' : 'PM'),
    M: () => two(date.getUTCMinutes()),
    S: () => two(date.getUTCSeconds()),
    j: () => String(Math.floor((date.getTime() - start) / 86_400_000) + 1).padStart(3, '0'),
    F: () => `${parts.Y()}-${parts.m()}-${parts.d()}`,
    T: () => `${parts.H()}:${parts.M()}:${parts.S()}`,
    '%': () => '%',
  }
  return format.replace(/%(-?)([A-Za-z%])/g, (all, minus: string, letter: string) => {
    const part = parts[letter]
    if (part === undefined)
      throw new DecodeError(`the template asks for the date as ${all}, which is not known here`)
    return minus === '-' ? part().replace(/^[0 ]+(?=.)/, '') : part()
  })
}
