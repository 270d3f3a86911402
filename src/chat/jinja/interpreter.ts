/**
 * Runs a parsed template as Jinja does, on top of the package's interpreter, which takes shortcuts that show in what a model
 * would learn: it strips other characters, prints None as nothing, compares 1 with "1". A template is data of others: it can
 * reach nothing but its values, and its steps and its output are bounded.
 */
import { DecodeError } from '../../basics/errors.js'
import { applyFilter, hasFilter, itemsOf, pairs } from './filters.js'
import { type MessageNumbers, messageAt } from './message-at.js'
import type { BaseInterpreter, Jinja, MapValue, Node, Scope, TextValue, Value } from './package.js'
import { textMethod } from './text.js'
import {
  equal,
  isBool,
  isDict,
  isFloat,
  isInteger,
  isList,
  isMissing,
  isNone,
  isNumber,
  isText,
  str,
} from './values.js'

/** The statement that `{% generation %}` becomes before parsing. */
export const GENERATION = 'millrace_generation'

/** Steps, and characters of any text, that a template may come to for one conversation. */
const STEPS = 2_000_000
const CHARACTERS = 64 << 20

/** What `raise_exception` of a template said. */
export class TemplateRefusal extends DecodeError {}

/** `break` and `continue`, and what the loop's body had printed before. */
class LoopControl {
  printed = ''
  constructor(readonly ends: boolean) {}
}

/** Nodes that print what they give; all others are expressions, which are printed as Python prints values. */
const STATEMENTS: ReadonlySet<string> = new Set(['If', 'For', 'CallStatement', 'FilterStatement', 'Program'])
const SILENT: ReadonlySet<string> = new Set(['Set', 'Macro', 'Comment'])

export interface Marks {
  open: string
  close: string
}

export function newInterpreter(
  jinja: Jinja,
  ...of: ConstructorParameters<InterpreterClass>
): BaseInterpreter {
  return new (interpreterClass(jinja))(...of)
}

type InterpreterClass = new (scope: Scope, marks: Marks, messages: MessageNumbers) => BaseInterpreter
const classes = new WeakMap<Jinja, InterpreterClass>()

function interpreterClass(jinja: Jinja): InterpreterClass {
  const known = classes.get(jinja)
  if (known !== undefined) return known
  const made = defineInterpreter(jinja)
  classes.set(jinja, made)
  return made
}

function defineInterpreter(jinja: Jinja): InterpreterClass {
  const bool = (value: boolean) => new jinja.Bool(value)

  return class extends jinja.Interpreter {
    private steps = 0

    constructor(
      scope: Scope,
      private readonly marks: Marks,
      private readonly messages: MessageNumbers,
    ) {
      super(scope)
    }

    override evaluate(node: Node | undefined, scope: Scope): Value {
      this.step()
      if (node !== undefined) {
        if (node.type === 'Break' || node.type === 'Continue') throw new LoopControl(node.type === 'Break')
        if (node.type === 'CallStatement') {
          const { callee } = node.call as { callee: Node }
          if (callee.value === GENERATION) return this.generation(node, scope)
        }
      }
      const value = super.evaluate(node, scope)
      if (isText(value) && value.value.length > CHARACTERS) throw tooLong()
      return value
    }

    private step(): void {
      if (++this.steps > STEPS)
        throw new DecodeError(`the template takes more than ${STEPS} steps for one conversation`)
    }

    /** The text of a generation block, between marks, after the number of its message. Its variables are its own, as in transformers. */
    private generation(node: Node, scope: Scope): Value {
      const { value } = this.evaluateBlock(node.body as Node[], jinja.scopeIn(scope))
      const { open, close } = this.marks
      return new jinja.Text(`${open}${messageAt(scope, this.messages) ?? ''}${open}${value}${close}`)
    }

    override evaluateBlock(nodes: Node[], scope: Scope): TextValue {
      let printed = ''
      try {
        for (const node of nodes) {
          const value = this.evaluate(node, scope)
          if (SILENT.has(node.type)) continue
          printed += STATEMENTS.has(node.type) && isText(value) ? value.value : str(value)
          if (printed.length > CHARACTERS) throw tooLong()
        }
      } catch (error) {
        if (error instanceof LoopControl) error.printed = printed + error.printed
        throw error
      }
      return new jinja.Text(printed)
    }

    override evaluateFor(node: Node, scope: Scope): Value {
      const select = node.iterable as Node
      const chosen = select.type === 'SelectExpression' ? select : undefined
      const all = itemsOf(jinja, this.evaluate((chosen?.lhs as Node) ?? select, scope))
      const items =
        chosen === undefined
          ? all
          : all.filter(item => {
              const inner = jinja.scopeIn(scope)
              assign(node.loopvar as Node, item, inner)
              return this.evaluate(chosen.test as Node, inner).__bool__().value
            })
      if (items.length === 0) return this.evaluateBlock(node.defaultBlock as Node[], scope)
      let printed = ''
      for (let i = 0; i < items.length; i++) {
        this.step()
        const inner = jinja.scopeIn(scope)
        inner.loop = { items, at: i }
        assign(node.loopvar as Node, items[i], inner)
        try {
          printed += this.evaluateBlock(node.body as Node[], inner).value
        } catch (error) {
          if (!(error instanceof LoopControl)) throw error
          printed += error.printed
          if (error.ends) break
        }
        if (printed.length > CHARACTERS) throw tooLong()
      }
      return new jinja.Text(printed)
    }

    override evaluateIdentifier(node: Node, scope: Scope): Value {
      const name = node.value as string
      for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
        const found = at.variables.get(name)
        if (found !== undefined) return found
        if (name === 'loop' && at.loop !== undefined)
          return (at.loop.value ??= loopAt(at.loop.items, at.loop.at))
      }
      return jinja.missing
    }

    override evaluateUnaryExpression(node: Node, scope: Scope): Value {
      const { value } = node.operator as { value: string }
      if (value !== 'not') return super.evaluateUnaryExpression(node, scope)
      return bool(!this.evaluate(node.argument as Node, scope).__bool__().value)
    }

    override evaluateBinaryExpression(node: Node, scope: Scope): Value {
      const operator = (node.operator as { value: string }).value
      const left = this.evaluate(node.left as Node, scope)
      if (operator === 'and') return left.__bool__().value ? this.evaluate(node.right as Node, scope) : left
      if (operator === 'or') return left.__bool__().value ? left : this.evaluate(node.right as Node, scope)
      return this.operate(operator, left, this.evaluate(node.right as Node, scope))
    }

    private operate(operator: string, left: Value, right: Value): Value {
      switch (operator) {
        case '==':
          return bool(equal(left, right))
        case '!=':
          return bool(!equal(left, right))
        case 'in':
          return bool(contains(left, right))
        case 'not in':
          return bool(!contains(left, right))
        case '~':
          return new jinja.Text(str(left) + str(right))
      }
      for (const value of [left, right])
        if (isMissing(value)) throw new Error(`${operator} is applied to an undefined value`)
      if (isText(left) && isText(right)) {
        if (operator === '+') return new jinja.Text(left.value + right.value)
        const compared = left.value < right.value ? -1 : left.value > right.value ? 1 : 0
        if (operator === '<') return bool(compared < 0)
        if (operator === '>') return bool(compared > 0)
        if (operator === '<=') return bool(compared <= 0)
        if (operator === '>=') return bool(compared >= 0)
      }
      if (operator === '+' && isList(left) && isList(right))
        return new jinja.List([...left.value, ...right.value])
      if (operator === '*' && isText(left) && isInteger(right)) {
        const times = Math.max(0, right.value as number)
        if (left.value.length * times > CHARACTERS) throw tooLong()
        return new jinja.Text(left.value.repeat(times))
      }
      if (isNumber(left) && isNumber(right)) return compute(operator, left, right)
      throw new Error(`${operator} can't be applied to ${left.type} and ${right.type}`)
    }

    override evaluateTestExpression(node: Node, scope: Scope): Value {
      const name = (node.test as { value: string }).value
      const value = this.evaluate(node.operand as Node, scope)
      return bool(passes(name, value) !== (node.negate as boolean))
    }

    override applyFilter(operand: Value, filter: Node, scope: Scope): Value {
      const call = filter.type === 'CallExpression'
      const name = ((call ? filter.callee : filter) as { value: string }).value
      if (!hasFilter(name)) return super.applyFilter(operand, filter, scope)
      const [args, named] = call
        ? this.evaluateArguments(filter.args as Node[], scope)
        : [[], new Map<string, Value>()]
      return applyFilter(name, { jinja, operand, args, named })
    }

    override evaluateMemberExpression(node: Node, scope: Scope): Value {
      const property = node.property as Node
      if (node.computed === true && property.type === 'SliceExpression')
        return super.evaluateMemberExpression(node, scope)
      const object = this.evaluate(node.object as Node, scope)
      const key =
        node.computed === true ? this.evaluate(property, scope) : new jinja.Text(String(property.value))
      if (isMissing(object)) throw new Error(`${shown(node.object as Node)} is undefined`)
      if (isInteger(key)) return itemAt(object, key.value as number)
      if (!isText(key)) return jinja.missing
      if (isText(object)) return textMethod(jinja, object.value, key.value) ?? jinja.missing
      if (object.type === 'NamespaceValue') return (object as MapValue).value.get(key.value) ?? jinja.missing
      if (!isDict(object)) return jinja.missing
      const item = object.value.get(key.value)
      // By a dot, Python's methods come first; in brackets, the keys.
      if (node.computed === true) return item ?? dictMethod(object, key.value) ?? jinja.missing
      return dictMethod(object, key.value) ?? item ?? jinja.missing
    }
  }

  function itemAt(object: Value, at: number): Value {
    if (isList(object)) return object.value.at(at) ?? jinja.missing
    if (!isText(object)) return jinja.missing
    const point = Array.from(object.value).at(at)
    return point === undefined ? jinja.missing : new jinja.Text(point)
  }

  function dictMethod({ value: map }: MapValue, name: string): Value | undefined {
    switch (name) {
      case 'get':
        return new jinja.Function(
          ([key, other]) => (isText(key) ? map.get(key.value) : undefined) ?? other ?? jinja.none,
        )
      case 'items':
        return new jinja.Function(() => pairs(jinja, map))
      case 'keys':
        return new jinja.Function(() => new jinja.List(Array.from(map.keys(), key => new jinja.Text(key))))
      case 'values':
        return new jinja.Function(() => new jinja.List(Array.from(map.values())))
      default:
        return undefined
    }
  }

  function loopAt(items: readonly Value[], i: number): Value {
    const number = (value: number) => new jinja.Integer(value)
    return new jinja.Dict(
      new Map<string, Value>([
        ['index', number(i + 1)],
        ['index0', number(i)],
        ['revindex', number(items.length - i)],
        ['revindex0', number(items.length - i - 1)],
        ['first', bool(i === 0)],
        ['last', bool(i === items.length - 1)],
        ['length', number(items.length)],
        ['previtem', items[i - 1] ?? jinja.missing],
        ['nextitem', items[i + 1] ?? jinja.missing],
      ]),
    )
  }

  /** The loop's variable, or one for each part of an item. */
  function assign(target: Node, item: Value, scope: Scope): void {
    if (target.type === 'Identifier') {
      scope.setVariable(target.value as string, item)
      return
    }
    const names = target.value as Node[]
    const parts = itemsOf(jinja, item)
    if (parts.length !== names.length)
      throw new Error(`${parts.length} values can't be unpacked into ${names.length} variables`)
    names.forEach((name, i) => {
      assign(name, parts[i], scope)
    })
  }

  function contains(item: Value, inside: Value): boolean {
    if (isMissing(inside)) return false
    if (isText(inside)) {
      if (!isText(item)) throw new Error(`a ${item.type} can't be looked for in a text`)
      return inside.value.includes(item.value)
    }
    if (isDict(inside)) return isText(item) && inside.value.has(item.value)
    return itemsOf(jinja, inside).some(other => equal(other, item))
  }

  function compute(operator: string, left: Value, right: Value): Value {
    const [a, b] = [Number(left.value), Number(right.value)]
    const float = isFloat(left) || isFloat(right)
    const number = (value: number) => (float ? new jinja.Float(value) : new jinja.Integer(value))
    if (b === 0 && ['/', '//', '%'].includes(operator)) throw new Error('division by zero')
    switch (operator) {
      case '+':
        return number(a + b)
      case '-':
        return number(a - b)
      case '*':
        return number(a * b)
      case '/':
        return new jinja.Float(a / b)
      case '//':
        return number(Math.floor(a / b))
      case '%':
        return number(a - b * Math.floor(a / b))
      case '**':
        return b < 0 ? new jinja.Float(a ** b) : number(a ** b)
      case '<':
        return bool(a < b)
      case '>':
        return bool(a > b)
      case '<=':
        return bool(a <= b)
      case '>=':
        return bool(a >= b)
      default:
        throw new Error(`there is no operator ${operator}`)
    }
  }
}

/** Tests after `is`. */
function passes(name: string, value: Value): boolean {
  switch (name) {
    case 'defined':
      return !isMissing(value)
    case 'undefined':
      return isMissing(value)
    case 'none':
      return isNone(value)
    case 'string':
      return isText(value)
    case 'mapping':
      return isDict(value) || value.type === 'NamespaceValue'
    case 'sequence':
    case 'iterable':
      return isText(value) || isList(value) || isDict(value) || isMissing(value)
    case 'number':
      return isNumber(value)
    case 'integer':
      return isInteger(value)
    case 'float':
      return isFloat(value)
    case 'boolean':
      return isBool(value)
    case 'true':
      return isBool(value) && value.value === true
    case 'false':
      return isBool(value) && value.value === false
    case 'callable':
      return value.type === 'FunctionValue'
    case 'odd':
      return Math.abs(Number(value.value) % 2) === 1
    case 'even':
      return Number(value.value) % 2 === 0
    case 'lower':
      return str(value) === str(value).toLowerCase()
    case 'upper':
      return str(value) === str(value).toUpperCase()
    default:
      throw new Error(`there is no test "is ${name}" here`)
  }
}

/** How a template names what it looks into. */
function shown(node: Node): string {
  if (node.type === 'Identifier') return `'${node.value}'`
  const { property } = node as { property?: Node }
  return property?.value === undefined ? 'a value that is looked into' : `'${property.value}'`
}

const tooLong = () => new DecodeError(`the template prints more than ${CHARACTERS} characters`)
