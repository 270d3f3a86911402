/** Jinja's tests: what may stand behind `is`. */
import { Float } from '../../json.js'
import type { Meter } from '../meter.js'
import { contains, operate } from '../operators.js'
import {
  Attributed,
  equal,
  Func,
  isDict,
  isInteger,
  isList,
  isNumber,
  isText,
  Missing,
  str,
  truth,
  typeOf,
  type Value,
  View,
} from '../values.js'
import { Args, type Builtin } from './calls.js'
import { isCase } from './text.js'

type Test = Builtin<Value>

const plain = (test: (value: Value) => boolean): Test => ['', test]
const comparing = (operator: string): Test => [
  'other',
  (value, args, meter) => operate(meter, operator, value, args.needed('other')),
]
const dividing = (by: bigint | undefined, rest: bigint): Test => [
  by === undefined ? 'num' : '',
  (value, args) => {
    const number = by ?? args.needed('num')
    if (!isNumber(value) || value instanceof Float || !isInteger(number))
      throw new Error(`${typeOf(value)} is no whole number`)
    if (BigInt(number) === 0n) throw new Error('division by zero')
    const left = BigInt(value) % BigInt(number)
    return (left < 0n ? -left : left) === rest
  },
]
const cased = (change: (text: string) => string): Test => [
  '',
  (value, _, meter) => {
    const text = str(meter, value)
    meter.text(3 * text.length)
    return isCase(text, change(text))
  },
]
const [eq, ne, lt, le, gt, ge] = ['==', '!=', '<', '<=', '>', '>='].map(comparing)

const TESTS: Readonly<Record<string, Test>> = {
  defined: plain(value => !(value instanceof Missing)),
  undefined: plain(value => value instanceof Missing),
  none: plain(value => value === null),
  string: plain(isText),
  mapping: plain(isDict),
  sequence: plain(
    value =>
      isText(value) ||
      isList(value) ||
      isDict(value) ||
      value instanceof Missing ||
      (value instanceof View && value.kind === 'range'),
  ),
  iterable: plain(
    value =>
      isText(value) || isList(value) || isDict(value) || value instanceof Missing || value instanceof View,
  ),
  number: plain(isNumber),
  integer: plain(isInteger),
  float: plain(value => value instanceof Float),
  boolean: plain(value => typeof value === 'boolean'),
  true: plain(value => value === true),
  false: plain(value => value === false),
  callable: plain(
    value =>
      value instanceof Func ||
      value instanceof Missing ||
      (value instanceof Attributed && value.call !== undefined),
  ),
  escaped: plain(() => false),
  odd: dividing(2n, 1n),
  even: dividing(2n, 0n),
  divisibleby: dividing(undefined, 0n),
  lower: cased(text => text.toLowerCase()),
  upper: cased(text => text.toUpperCase()),
  in: ['seq', (value, args, meter) => contains(meter, value, args.needed('seq'))],
  sameas: [
    'other',
    (value, args, meter) => {
      const other = args.needed('other')
      return (
        value === other || (isNumber(value) && typeof value === typeof other && equal(meter, value, other))
      )
    },
  ],
  eq,
  equalto: eq,
  '==': eq,
  ne,
  '!=': ne,
  lt,
  lessthan: lt,
  '<': lt,
  le,
  '<=': le,
  gt,
  greaterthan: gt,
  '>': gt,
  ge,
  '>=': ge,
}

export function applyTest(
  meter: Meter,
  name: string,
  value: Value,
  args: readonly Value[] = [],
  named: ReadonlyMap<string, Value> = new Map(),
): boolean {
  meter.step()
  if (!Object.hasOwn(TESTS, name)) throw new Error(`there is no test "is ${name}" here`)
  const [parameters, run] = TESTS[name]
  return truth(run(value, new Args(meter, `is ${name}`, parameters, args, named), meter))
}
