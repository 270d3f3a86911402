/**
 * The package that parses templates, and the parts of it that the interpreter builds on: classes of values and nodes. The package
 * does not export its classes of values, so each is taken from a value that it makes.
 */
import { SourceError } from '../../basics/errors.js'

/** A value while a template runs: the package's own classes, told apart by `type`. */
export interface Value {
  type: string
  value: unknown
  __bool__(): { value: boolean }
}
export interface TextValue extends Value {
  value: string
}
export interface ListValue extends Value {
  value: Value[]
}
export interface MapValue extends Value {
  value: Map<string, Value>
}
export type Call = (args: Value[], scope: Scope) => Value
export interface FunctionValue extends Value {
  value: Call
}

export interface Scope {
  tests: unknown
  variables: Map<string, Value>
  parent?: Scope
  /** Of a loop's body: where it is, from which the variable `loop` is made when it is asked for. */
  loop?: { items: readonly Value[]; at: number; value?: Value }
  set(name: string, value: unknown): Value
  setVariable(name: string, value: Value): Value
}

/** A node of a parsed template; the others of its members go by the type. */
export interface Node {
  type: string
  [more: string]: unknown
}

/** The methods of the package's interpreter that ours replaces or calls. */
export interface BaseInterpreter {
  run(program: Node): Value
  evaluate(node: Node | undefined, scope: Scope): Value
  evaluateArguments(args: Node[], scope: Scope): [Value[], Map<string, Value>]
  evaluateBlock(nodes: Node[], scope: Scope): TextValue
  evaluateBinaryExpression(node: Node, scope: Scope): Value
  evaluateUnaryExpression(node: Node, scope: Scope): Value
  evaluateTestExpression(node: Node, scope: Scope): Value
  evaluateMemberExpression(node: Node, scope: Scope): Value
  evaluateIdentifier(node: Node, scope: Scope): Value
  evaluateFor(node: Node, scope: Scope): Value
  applyFilter(operand: Value, filter: Node, scope: Scope): Value
}

type ValueClass<T> = new (value: T) => Value & { value: T }

export interface Jinja {
  parse(template: string): Node
  Interpreter: new (scope: Scope) => BaseInterpreter
  newScope(): Scope
  /** A scope inside another. The package's constructor would make functions for each. */
  scopeIn(parent: Scope): Scope
  Text: ValueClass<string>
  Integer: ValueClass<number>
  Float: ValueClass<number>
  Bool: ValueClass<boolean>
  List: ValueClass<Value[]>
  Dict: ValueClass<Map<string, Value>>
  Function: ValueClass<Call>
  none: Value
  missing: Value
}

/** The version that was tested: package.json names the same. */
const PACKAGE = '@huggingface/jinja'
const VERSION = '0.5.10'

let loaded: Promise<Jinja> | undefined

/** Loads the package, once a thread. */
export function loadJinja(): Promise<Jinja> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<Jinja> {
  let jinja: typeof import('@huggingface/jinja')
  try {
    jinja = await import('@huggingface/jinja')
  } catch (cause) {
    throw new SourceError(
      `chat templates need the package ${PACKAGE}: npm install ${PACKAGE}@${VERSION} (${(cause as Error).message})`,
      { cause },
    )
  }
  const { Interpreter, Environment, tokenize, parse } = jinja
  const scope = new Environment() as unknown as Scope
  const { tests } = scope
  const Inner = function (this: Scope, parent: Scope) {
    this.variables = new Map()
    this.tests = tests
    this.parent = parent
  } as unknown as new (
    parent: Scope,
  ) => Scope
  Inner.prototype = Environment.prototype
  let at = 0
  const classOf = <T>(value: unknown) => scope.set(`v${at++}`, value).constructor as ValueClass<T>
  return {
    parse: template =>
      parse(tokenize(template, { lstrip_blocks: true, trim_blocks: true })) as unknown as Node,
    Interpreter: Interpreter as unknown as Jinja['Interpreter'],
    newScope: () => new Environment() as unknown as Scope,
    scopeIn: parent => new Inner(parent),
    Text: classOf(''),
    Integer: classOf(0),
    Float: classOf(0.5),
    Bool: classOf(true),
    List: classOf([]),
    Dict: classOf({}),
    Function: classOf(() => null),
    none: scope.set('none', null),
    missing: scope.set('missing', undefined),
  }
}
