/** Jinja's expressions: parsed with its precedence into functions, each of which gives the value in a scope. */
import { Float } from '../json.js'
import { applyFilter, hasFilter } from './builtins/filters.js'
import { applyTest } from './builtins/tests.js'
import { TokenReader } from './lexer.js'
import { attribute, called, item, negated, operate, slice } from './operators.js'
import type { Scope } from './scope.js'
import {
  integer,
  isDict,
  isText,
  itemsOf,
  type Key,
  keyOf,
  Missing,
  Tuple,
  truth,
  type Value,
} from './values.js'

export type Expression = (scope: Scope) => Value

interface Arguments {
  list: readonly { value: Expression; spread: boolean }[]
  named: readonly { name?: string; value: Expression }[]
}

const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ...(['true', 'True'] as const).map(name => [name, true] as const),
  ...(['false', 'False'] as const).map(name => [name, false] as const),
  ...(['none', 'None'] as const).map(name => [name, null] as const),
])
export class ExpressionParser extends TokenReader {
  /** Names of variables that are read. */
  protected names = new Set<string>()

  /** `a if b else c`. */
  expression(): Expression {
    return this.deeper(() => {
      let value = this.or()
      while (this.takes('name', 'if')) {
        const [then, test] = [value, this.or()]
        const other: Expression = this.takes('name', 'else')
          ? this.expression()
          : () => new Missing('what has no else')
        value = step(scope => (truth(test(scope)) ? then(scope) : other(scope)))
      }
      return value
    })
  }

  /** Values with commas between are a tuple. `one` parses each. */
  tuple(one: () => Expression = () => this.expression(), ends?: () => boolean): Expression {
    const first = one()
    if (!this.is('operator', ',')) return first
    const all = [first]
    while (this.takes('operator', ',')) {
      if (this.is('end') || this.is('operator', ')') || this.is('operator', '=') || ends?.()) break
      all.push(one())
    }
    return step(scope => Tuple.from(all.map(value => value(scope))) as Tuple)
  }

  or(): Expression {
    return this.chain(
      () => this.and(),
      ['or'],
      (_, left, right) =>
        step(scope => {
          const value = left(scope)
          return truth(value) ? value : right(scope)
        }),
    )
  }

  private and(): Expression {
    return this.chain(
      () => this.not(),
      ['and'],
      (_, left, right) =>
        step(scope => {
          const value = left(scope)
          return truth(value) ? right(scope) : value
        }),
    )
  }

  private not(): Expression {
    if (!this.takes('name', 'not')) return this.comparison()
    const value = this.deeper(() => this.not())
    return step(scope => !truth(value(scope)))
  }

  /** `a < b <= c` compares each with the next. */
  private comparison(): Expression {
    const first = this.math()
    const rest: [string, Expression][] = []
    for (let operator = this.comparing(); operator !== undefined; operator = this.comparing())
      rest.push([operator, this.math()])
    if (rest.length === 0) return first
    return step(scope => {
      let left = first(scope)
      let value: Value = true
      for (const [operator, other] of rest) {
        const right = other(scope)
        value = operate(scope.run.meter, operator, left, right)
        if (!truth(value)) return value
        left = right
      }
      return value
    })
  }

  private comparing(): string | undefined {
    if (this.token.type === 'operator' && ['==', '!=', '<', '<=', '>', '>='].includes(this.token.value))
      return this.next().value
    if (this.takes('name', 'in')) return 'in'
    const { type, value } = this.tokens[this.at + 1] ?? this.token
    if (!this.is('name', 'not') || type !== 'name' || value !== 'in') return undefined
    this.at += 2
    return 'not in'
  }

  private math(): Expression {
    const concat = () => this.chain(() => this.product(), ['~'], binary)
    return this.chain(concat, ['+', '-'], binary)
  }

  private product(): Expression {
    const power = () => this.chain(() => this.unary(), ['**'], binary)
    return this.chain(power, ['*', '/', '//', '%'], binary)
  }

  /** One after the other, from the left. */
  private chain(
    part: () => Expression,
    operators: readonly string[],
    join: (operator: string, left: Expression, right: Expression) => Expression,
  ): Expression {
    let left = part()
    while (
      (this.token.type === 'operator' || this.token.type === 'name') &&
      operators.includes(this.token.value)
    )
      left = join(this.next().value, left, part())
    return left
  }

  private unary(filtered = true): Expression {
    const sign = ['-', '+'].find(sign => this.takes('operator', sign))
    let value: Expression
    if (sign === undefined) value = this.primary()
    else {
      const inner = this.deeper(() => this.unary(false))
      value = step(scope => negated(inner(scope), sign))
    }
    value = this.postfix(value)
    return filtered ? this.filters(value) : value
  }

  private primary(): Expression {
    const { type, value } = this.token
    switch (type) {
      case 'name': {
        this.at++
        const constant = CONSTANTS.get(value)
        if (constant !== undefined) return () => constant
        this.names.add(value)
        return step(scope => scope.get(value))
      }
      case 'string': {
        let text = ''
        while (this.is('string')) text += this.next().value
        return () => text
      }
      case 'integer':
        this.at++
        return constantOf(wholeNumber(value))
      case 'float':
        this.at++
        return constantOf(new Float(Number(value.replaceAll('_', ''))))
      case 'operator':
        if (this.takes('operator', '(')) return this.deeper(() => this.inParentheses())
        if (this.takes('operator', '[')) return this.deeper(() => this.list())
        if (this.takes('operator', '{')) return this.deeper(() => this.dict())
    }
    throw this.fault('a value should stand')
  }

  private inParentheses(): Expression {
    if (this.takes('operator', ')')) return () => new Tuple()
    const value = this.tuple()
    this.expect('operator', ')')
    return value
  }

  private list(): Expression {
    const items: Expression[] = []
    while (!this.takes('operator', ']')) {
      if (items.length > 0) this.expect('operator', ',')
      if (this.takes('operator', ']')) break
      items.push(this.expression())
    }
    return step(scope => items.map(item => item(scope)))
  }

  private dict(): Expression {
    const entries: [Expression, Expression][] = []
    while (!this.takes('operator', '}')) {
      if (entries.length > 0) this.expect('operator', ',')
      if (this.takes('operator', '}')) break
      const key = this.expression()
      this.expect('operator', ':')
      entries.push([key, this.expression()])
    }
    return step(
      scope => new Map<Key, Value>(entries.map(([key, value]) => [keyOf(key(scope)), value(scope)])),
    )
  }

  private postfix(value: Expression): Expression {
    let left = value
    for (;;) {
      const inner = left
      if (this.takes('operator', '.')) {
        if (this.is('integer')) {
          const at = wholeNumber(this.next().value)
          left = step(scope => item(scope.run.meter, inner(scope), at))
          continue
        }
        const name = this.expect('name')
        left = step(scope => attribute(scope.run.meter, inner(scope), name))
      } else if (this.takes('operator', '[')) left = this.deeper(() => this.subscript(inner))
      else if (this.is('operator', '(')) {
        const args = this.arguments()
        left = step(scope => called(inner(scope), ...given(args, scope)))
      } else return left
    }
  }

  private subscript(of: Expression): Expression {
    const bounds: (Expression | undefined)[] = []
    let [colons, key] = [0, undefined as Expression | undefined]
    while (!this.takes('operator', ']')) {
      if (this.takes('operator', ':')) {
        bounds[colons++] = key
        key = undefined
      } else if (key === undefined) key = this.tuple()
      else throw this.fault('"]" should stand')
    }
    bounds[colons] = key
    if (colons > 2 || (colons === 0 && key === undefined))
      throw this.fault('an index or a slice should stand')
    if (colons === 0) return step(scope => item(scope.run.meter, of(scope), key!(scope)))
    return step(scope =>
      slice(
        scope.run.meter,
        of(scope),
        bounds.map(bound => bound?.(scope)),
      ),
    )
  }

  /** Filters and tests behind a value. */
  private filters(value: Expression): Expression {
    let left = value
    for (;;) {
      const inner = left
      if (this.takes('operator', '|')) left = this.filter(inner)
      else if (this.takes('name', 'is')) left = this.test(inner)
      else if (this.is('operator', '(')) {
        const args = this.arguments()
        left = step(scope => called(inner(scope), ...given(args, scope)))
      } else return left
    }
  }

  /** The filter that stands next, of a value. */
  protected filter(of: Expression): Expression {
    const name = this.expect('name')
    if (!hasFilter(name)) throw new Error(`line ${this.token.line}: there is no filter "${name}" here`)
    const args = this.is('operator', '(') ? this.arguments() : NONE
    return step(scope => applyFilter(scope.run.meter, name, of(scope), ...given(args, scope)))
  }

  private test(of: Expression): Expression {
    const negate = this.takes('name', 'not')
    const name = this.expect('name')
    let args = NONE
    if (this.is('operator', '(')) args = this.arguments()
    else if (
      ['name', 'string', 'integer', 'float'].includes(this.token.type)
        ? !['else', 'or', 'and', 'if', 'in', 'is', 'not', 'recursive'].includes(this.token.value) ||
          this.token.type === 'string'
        : this.is('operator', '[') || this.is('operator', '{')
    ) {
      const value = this.postfix(this.primary())
      args = { list: [{ value, spread: false }], named: [] }
    }
    return step(scope => applyTest(scope.run.meter, name, of(scope), ...given(args, scope)) !== negate)
  }

  protected callWithArguments(): [Expression, Arguments] {
    const name = this.expect('name')
    let value: Expression = scope => scope.get(name)
    while (this.takes('operator', '.')) {
      const [inner, member] = [value, this.expect('name')]
      value = scope => attribute(scope.run.meter, inner(scope), member)
    }
    return [value, this.arguments()]
  }

  protected arguments(): Arguments {
    return this.deeper(() => {
      const [list, named] = [
        [] as { value: Expression; spread: boolean }[],
        [] as { name?: string; value: Expression }[],
      ]
      this.expect('operator', '(')
      while (!this.takes('operator', ')')) {
        if (list.length + named.length > 0) this.expect('operator', ',')
        if (this.takes('operator', ')')) break
        const after = this.tokens[this.at + 1]
        if (this.takes('operator', '**')) named.push({ value: this.expression() })
        else if (this.takes('operator', '*')) list.push({ value: this.expression(), spread: true })
        else if (this.is('name') && after?.type === 'operator' && after.value === '=') {
          const name = this.next().value
          this.at++
          named.push({ name, value: this.expression() })
        } else list.push({ value: this.expression(), spread: false })
      }
      return { list, named }
    })
  }
}

const NONE: Arguments = { list: [], named: [] }

/** What is counted when it runs. */
export const step =
  (run: Expression): Expression =>
  scope => {
    scope.run.meter.step()
    return run(scope)
  }

const constantOf =
  (value: Value): Expression =>
  () =>
    value

const binary = (operator: string, left: Expression, right: Expression): Expression =>
  step(scope => operate(scope.run.meter, operator, left(scope), right(scope)))

function wholeNumber(text: string): number | bigint {
  const digits = text.replaceAll('_', '')
  if (digits.length > 4300) throw new Error('a number has more than 4300 digits')
  return integer(BigInt(digits))
}

export function given({ list, named }: Arguments, scope: Scope): [Value[], Map<string, Value>] {
  const { meter } = scope.run
  const values: Value[] = []
  for (const { value, spread } of list) {
    if (!spread) values.push(value(scope))
    else for (const one of itemsOf(meter, value(scope))) values.push(one)
  }
  const names = new Map<string, Value>()
  for (const { name, value } of named) {
    const found = value(scope)
    if (name !== undefined) names.set(name, found)
    else {
      if (!isDict(found)) throw new Error('** wants a dict')
      meter.items(found.size)
      for (const [key, one] of found) if (isText(key as Value)) names.set(String(key), one)
    }
  }
  return [values, names]
}
