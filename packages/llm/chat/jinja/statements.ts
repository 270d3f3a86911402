/** Jinja's statements: a template becomes functions that print into an output. */
import { type Expression, ExpressionParser, given } from './expressions.js'
import { lex } from './lexer.js'
import { Output } from './meter.js'
import { called } from './operators.js'
import type { Scope } from './scope.js'
import {
  Attributed,
  equal,
  Func,
  itemsOf,
  type List,
  Namespace,
  orMissing,
  str,
  Tuple,
  truth,
  type Value,
} from './values.js'

/** What a statement asks of the loop that it stands in. */
type Signal = 'break' | 'continue' | undefined
export type Statement = (scope: Scope, out: Output) => Signal
type Assign = (scope: Scope, value: Value) => void

export function parse(template: string): Statement {
  return new Parser(lex(template)).template()
}

class Parser extends ExpressionParser {
  private loops = 0

  template(): Statement {
    const all = this.body()
    if (!this.is('eof')) throw this.fault('a statement should stand')
    return all
  }

  /** Statements, up to a tag with one of these names. */
  private body(...ends: string[]): Statement {
    return this.deeper(() => {
      const all: Statement[] = []
      while (!this.is('eof')) {
        if (this.is('text')) {
          const { value } = this.next()
          all.push((_, out) => void out.add(value))
        } else if (this.takes('print')) {
          const value = this.tuple()
          this.expect('end')
          all.push((scope, out) => void out.add(str(scope.run.meter, value(scope))))
        } else {
          this.expect('tag')
          if (this.is('name') && ends.includes(this.token.value)) return inTurn(all)
          all.push(this.statement())
        }
      }
      if (ends.length > 0) throw this.fault(`{% ${ends.at(-1)} %} should stand`)
      return inTurn(all)
    })
  }

  private block(end: string): Statement {
    this.expect('end')
    const body = this.body(end)
    this.expect('name', end)
    return body
  }

  private statement(): Statement {
    const name = this.expect('name')
    const known = Object.hasOwn(STATEMENTS, name) ? STATEMENTS[name] : undefined
    if (known === undefined)
      throw new Error(`line ${this.token.line}: there is no statement {% ${name} %} here`)
    const made = known(this)
    this.expect('end')
    return counted(made)
  }

  if(): Statement {
    const cases: [Expression, Statement][] = []
    let other: Statement | undefined
    do {
      const test = this.tuple(() => this.or())
      this.expect('end')
      cases.push([test, this.body('elif', 'else', 'endif')])
    } while (this.takes('name', 'elif'))
    if (this.takes('name', 'else')) {
      this.expect('end')
      other = this.body('endif')
    }
    this.expect('name', 'endif')
    return (scope, out) => {
      for (const [test, body] of cases) if (truth(test(scope))) return body(scope, out)
      return other?.(scope, out)
    }
  }

  for(): Statement {
    const assign = this.target('in')
    this.expect('name', 'in')
    const from = this.tuple(
      () => this.or(),
      () => this.is('name', 'recursive'),
    )
    const test = this.takes('name', 'if') ? this.expression() : undefined
    const recursive = this.takes('name', 'recursive')
    this.expect('end')
    this.loops++
    const body = this.body('else', 'endfor')
    this.loops--
    let other: Statement | undefined
    if (this.takes('name', 'else')) {
      this.expect('end')
      other = this.body('endfor')
    }
    this.expect('name', 'endfor')
    const run = (value: Value, scope: Scope, out: Output, depth: number): Signal => {
      const { meter } = scope.run
      const all = itemsOf(meter, value)
      const items =
        test === undefined
          ? all
          : all.filter(item => {
              const inner = scope.inner()
              assign(inner, item)
              return truth(test(inner))
            })
      const again = (value: Value): Value => {
        const text = new Output(meter)
        run(value, scope, text, depth + 1)
        return text.text()
      }
      const at = { items, at: 0 }
      const loop = loopOf(at, depth, recursive ? again : undefined, (a, b) => equal(meter, a, b))
      let whole = true
      for (; at.at < items.length; at.at++) {
        meter.step()
        const inner = scope.inner({ ...at })
        inner.variables.set('loop', loop)
        assign(inner, items[at.at])
        const signal = body(inner, out)
        if (signal === undefined) whole = false
        if (signal === 'break') break
      }
      // As in Jinja: also where every round was left early.
      if (whole) other?.(scope.inner(), out)
      return undefined
    }
    return (scope, out) => run(from(scope), scope, out, 0)
  }

  set(): Statement {
    const assign = this.target()
    if (this.takes('operator', '=')) {
      const value = this.tuple()
      return scope => void assign(scope, value(scope))
    }
    let text: Expression = scope => scope.get(CAPTURED)
    while (this.takes('operator', '|')) text = this.filter(text)
    const body = this.block('endset')
    return scope => void assign(scope, captured(body, text, scope))
  }

  filterBlock(): Statement {
    let text = this.filter(scope => scope.get(CAPTURED))
    while (this.takes('operator', '|')) text = this.filter(text)
    const body = this.block('endfilter')
    return (scope, out) => void out.add(str(scope.run.meter, captured(body, text, scope)))
  }

  with(): Statement {
    const all: [Assign, Expression][] = []
    while (!this.is('end')) {
      if (all.length > 0) this.expect('operator', ',')
      const assign = this.target()
      this.expect('operator', '=')
      all.push([assign, this.expression()])
    }
    const body = this.block('endwith')
    return (scope, out) => {
      const inner = scope.inner()
      for (const [assign, value] of all) assign(inner, value(scope))
      return body(inner, out)
    }
  }

  macro(): Statement {
    const name = this.expect('name')
    const make = this.callable('endmacro', name)
    return scope => void scope.variables.set(name, make(scope))
  }

  call(): Statement {
    const parameters = this.is('operator', '(') ? this.parameters() : []
    const [callee, args] = this.callWithArguments()
    const make = this.callable('endcall', 'caller', parameters)
    return (scope, out) => {
      const [list, named] = given(args, scope)
      const made = called(callee(scope), list, new Map([...named, ['caller', make(scope)]]))
      return void out.add(str(scope.run.meter, made))
    }
  }

  /** What an assistant writes. Its variables are its own, as in transformers. */
  generation(): Statement {
    const body = this.block('endgeneration')
    return (scope, out) => {
      const { open, close } = scope.run.marks
      out.add(`${open}${scope.message() ?? ''}${open}`)
      const signal = body(scope.inner(), out)
      out.add(close)
      return signal
    }
  }

  leave(signal: Signal): Statement {
    if (this.loops === 0) throw this.fault(`{% ${signal} %} stands in no loop; it should not stand`)
    return () => signal
  }

  /** A macro, or the body of a call block. */
  private callable(end: string, name: string, parameters = this.parameters()): (scope: Scope) => Func {
    const [outer, loops] = [this.names, this.loops]
    this.names = new Set()
    this.loops = 0
    const body = this.block(end)
    const uses = this.names
    this.names = new Set([...outer, ...uses])
    this.loops = loops
    return scope =>
      new Func((list, named) => {
        scope.run.meter.step()
        const inner = scope.inner()
        const rest = new Map(named)
        const more = list.slice(parameters.length)
        for (const special of ['caller']) {
          const value = rest.get(special)
          if (value !== undefined) inner.variables.set(special, value)
          rest.delete(special)
        }
        parameters.forEach(({ name, other }, i) => {
          const given = i < list.length ? list[i] : rest.get(name)
          if (i < list.length && rest.has(name)) throw new Error(`${name} is given twice`)
          rest.delete(name)
          inner.variables.set(name, orMissing(given === undefined ? other?.(inner) : given, name))
        })
        if (uses.has('varargs')) inner.variables.set('varargs', Tuple.from(more) as Tuple)
        else if (more.length > 0)
          throw new Error(`${name}() takes ${parameters.length} arguments, and got ${list.length}`)
        if (uses.has('kwargs')) inner.variables.set('kwargs', rest)
        else if (rest.size > 0) throw new Error(`${name}() has no argument "${Array.from(rest.keys())[0]}"`)
        const text = new Output(scope.run.meter)
        body(inner, text)
        return text.text()
      })
  }

  private parameters(): { name: string; other?: Expression }[] {
    const all: { name: string; other?: Expression }[] = []
    this.expect('operator', '(')
    while (!this.takes('operator', ')')) {
      if (all.length > 0) this.expect('operator', ',')
      if (this.takes('operator', ')')) break
      const name = this.expect('name')
      all.push({ name, ...(this.takes('operator', '=') && { other: this.expression() }) })
    }
    return all
  }

  /** `name`, `space.name`, or several of them. */
  private target(end?: string): Assign {
    const one = (): Assign => {
      if (this.takes('operator', '(')) {
        const inner = this.target()
        this.expect('operator', ')')
        return inner
      }
      const name = this.expect('name')
      if (!this.takes('operator', '.')) return (scope, value) => void scope.variables.set(name, value)
      const member = this.expect('name')
      return (scope, value) => {
        const space = scope.get(name)
        if (!(space instanceof Namespace))
          throw new Error(`'${name}' is no namespace: its members can't be set`)
        space.map.set(member, value)
      }
    }
    const first = one()
    if (!this.is('operator', ',')) return first
    const all = [first]
    while (this.takes('operator', ',')) {
      if (this.is('operator', '=') || this.is('operator', ')') || (end !== undefined && this.is('name', end)))
        break
      all.push(one())
    }
    return (scope, value) => {
      const parts = itemsOf(scope.run.meter, value)
      if (parts.length !== all.length)
        throw new Error(`${parts.length} values can't be unpacked into ${all.length} variables`)
      for (const [i, assign] of all.entries()) assign(scope, parts[i])
    }
  }
}

const STATEMENTS: Readonly<Record<string, (parser: Parser) => Statement>> = {
  if: parser => parser.if(),
  for: parser => parser.for(),
  set: parser => parser.set(),
  macro: parser => parser.macro(),
  call: parser => parser.call(),
  filter: parser => parser.filterBlock(),
  with: parser => parser.with(),
  generation: parser => parser.generation(),
  break: parser => parser.leave('break'),
  continue: parser => parser.leave('continue'),
}

/** Under this name, which no template can write, the text of a block is given to filters. */
const CAPTURED = ' captured'

function captured(body: Statement, value: Expression, scope: Scope): Value {
  const inner = scope.inner()
  const out = new Output(scope.run.meter)
  body(inner, out)
  inner.variables.set(CAPTURED, out.text())
  return value(inner)
}

const counted =
  (run: Statement): Statement =>
  (scope, out) => {
    scope.run.meter.step()
    return run(scope, out)
  }

function inTurn(all: readonly Statement[]): Statement {
  return (scope, out) => {
    for (const statement of all) {
      const signal = statement(scope, out)
      if (signal !== undefined) return signal
    }
    return undefined
  }
}

function loopOf(
  place: { items: List; at: number },
  depth: number,
  again: ((value: Value) => Value) | undefined,
  same: (a: Value, b: Value) => boolean,
): Attributed {
  const { items } = place
  let last: Value | undefined
  const members: Readonly<Record<string, () => Value>> = {
    index: () => place.at + 1,
    index0: () => place.at,
    revindex: () => items.length - place.at,
    revindex0: () => items.length - place.at - 1,
    first: () => place.at === 0,
    last: () => place.at === items.length - 1,
    length: () => items.length,
    previtem: () => orMissing(items[place.at - 1], 'there is no previous item'),
    nextitem: () => orMissing(items[place.at + 1], 'there is no next item'),
    depth: () => depth + 1,
    depth0: () => depth,
    cycle: () =>
      new Func(args => {
        if (args.length === 0) throw new Error('cycle() wants values')
        return args[place.at % args.length]
      }),
    changed: () =>
      new Func(args => {
        const before = last
        last = args
        return before === undefined || !same(before, args)
      }),
  }
  return new Attributed(
    name => (Object.hasOwn(members, name) ? members[name]() : undefined),
    again && (([value]) => again(value)),
  )
}
