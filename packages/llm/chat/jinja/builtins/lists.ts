/** Filters of lists: sorting, choosing, grouping. */

import type { Meter } from '../meter.js'
import { item } from '../operators.js'
import {
  caseless,
  compare,
  equal,
  isDict,
  isInteger,
  isText,
  itemsOf,
  type List,
  Missing,
  orMissing,
  truth,
  tuple,
  typeOf,
  type Value,
  View,
} from '../values.js'
import { Args, type Builtin } from './calls.js'
import { pairs } from './methods.js'
import { applyTest } from './tests.js'

type Filter = Builtin<Value>

export const generator = (items: List): View => new View('generator', items)

/** Gets `a.b.0` of an item, or the item where no attribute is named. */
export function getter(args: Args, name = 'attribute', other?: Value): (value: Value) => Value {
  const path = args.at(name, null)
  if (path === null) return value => value
  const parts = isInteger(path)
    ? [path]
    : String(args.text(name))
        .split('.')
        .map(part => (/^\d+$/.test(part) ? Number(part) : part))
  return value => {
    let found = value
    for (const part of parts) {
      args.meter.step()
      found = item(args.meter, found, part)
      if (found instanceof Missing && other !== undefined) return other
    }
    return found
  }
}

/** Sorts by a key. Charged before: comparisons are as many as sorting takes at most. */
function sorted<T>(meter: Meter, items: readonly T[], key: (item: T) => Value, reverse: boolean): T[] {
  meter.items(items.length * (1 + Math.ceil(Math.log2(items.length + 1))))
  const keyed = items.map(item => ({ item, key: key(item) }))
  // In reverse, equal ones keep their order, too.
  keyed.sort((a, b) => (reverse ? compare(meter, b.key, a.key) : compare(meter, a.key, b.key)))
  return keyed.map(({ item }) => item)
}

export function sort(value: Value, args: Args, meter: Meter): Value {
  const paths = args.at('attribute', null)
  const keys = isText(paths) ? paths.split(',') : [paths]
  const getters = keys.map(path => getter(new Args(meter, 'sort', 'attribute', [path])))
  const sensitive = args.truth('case_sensitive')
  const key = (item: Value): Value => {
    return getters.map(get => caseless(meter, get(item), sensitive))
  }
  return sorted(meter, itemsOf(meter, value), key, args.truth('reverse'))
}

export const extreme = (sign: number): Filter => [
  'case_sensitive attribute',
  (value, args, meter) => {
    const get = getter(args)
    const key = (item: Value) => caseless(meter, get(item), args.truth('case_sensitive'))
    const items = itemsOf(meter, value)
    let best: Value | undefined
    for (const item of items)
      if (best === undefined || sign * compare(meter, key(item), key(best)) > 0) best = item
    return orMissing(best, 'the greatest of nothing')
  },
]

export function unique(value: Value, args: Args, meter: Meter): Value {
  const get = getter(args)
  const [simple, others] = [new Set<Value>(), [] as Value[]]
  return generator(
    itemsOf(meter, value).filter(item => {
      meter.items(1)
      const key = caseless(meter, get(item), args.truth('case_sensitive'))
      const plain = isText(key)
      if (plain ? simple.has(key) : others.some(other => equal(meter, other, key))) return false
      if (plain) simple.add(key)
      else others.push(key)
      return true
    }),
  )
}

/** As in Jinja, what is false has no items. */
export const itemsOrNone = (meter: Meter, value: Value): List => (truth(value) ? itemsOf(meter, value) : [])

/** select, reject, and the same by an attribute. */
export const selecting = (wanted: boolean, byAttribute: boolean): Filter => [
  '*',
  (value, args, meter) => {
    const [path, rest] = byAttribute ? [args.list[0], args.list.slice(1)] : [null, args.list]
    if (path === undefined) throw new Error('the name of an attribute is missing')
    const get = getter(new Args(meter, 'select', 'attribute', [path]))
    const [name, ...more] = rest
    return generator(
      itemsOrNone(meter, value).filter(item => {
        meter.items(1)
        const found = get(item)
        return (
          (name === undefined ? truth(found) : applyTest(meter, String(name), found, more, args.named)) ===
          wanted
        )
      }),
    )
  },
]

export function groupby(value: Value, args: Args, meter: Meter): Value {
  const get = getter(args, 'attribute', args.at('default'))
  const key = (item: Value) => caseless(meter, get(item), args.truth('case_sensitive'))
  const groups: { key: Value; name: Value; items: Value[] }[] = []
  for (const item of sorted(meter, itemsOf(meter, value), key, false)) {
    const last = groups.at(-1)
    if (last !== undefined && equal(meter, last.key, key(item))) last.items.push(item)
    else groups.push({ key: key(item), name: get(item), items: [item] })
  }
  return groups.map(({ name, items }) => tuple(name, items))
}

export function dictsort(value: Value, args: Args, meter: Meter): Value {
  if (!isDict(value)) throw new Error(`dictsort wants a dict, and got ${typeOf(value)}`)
  meter.items(value.size)
  const at = (args.text('by') ?? 'key') === 'key' ? 0 : 1
  const key = (pair: Value) => caseless(meter, (pair as List)[at], args.truth('case_sensitive'))
  return sorted(meter, pairs(value), key, args.truth('reverse'))
}

/** Lists of `count` items; the last one filled up. */
export function batch(value: Value, args: Args, meter: Meter): Value {
  const count = args.integer('linecount', 0)
  if (count < 1) throw new Error('batch wants a count from 1 on')
  const [items, fill, out] = [itemsOf(meter, value), args.at('fill_with', null), [] as Value[]]
  meter.items(items.length + count)
  for (let at = 0; at < items.length; at += count) {
    const part = items.slice(at, at + count)
    const missing = fill === null ? 0 : count - part.length
    meter.items(missing)
    out.push([...part, ...Array<Value>(missing).fill(fill)])
  }
  return generator(out)
}
