/** Builtins of templates: their parameters by name, as calls give them, and the functions behind them. */
import type { Meter } from '../meter.js'
import { Func, isInteger, isText, str, truth, typeOf, type Value } from '../values.js'

/** The arguments of a call, by the names of parameters. What was not given is undefined. */
export class Args {
  private readonly values = new Map<string, Value>()

  /** `parameters`: names with blanks between; the last may be "*", for any number more. */
  constructor(
    readonly meter: Meter,
    private readonly name: string,
    parameters: string,
    readonly list: readonly Value[],
    readonly named: ReadonlyMap<string, Value> = new Map(),
  ) {
    const names = parameters === '' ? [] : parameters.split(' ')
    const any = names.at(-1) === '*'
    list.forEach((value, i) => {
      if (i < names.length && names[i] !== '*') this.values.set(names[i], value)
      else if (!any) throw new Error(`${name} takes ${names.length} arguments, and got ${list.length}`)
    })
    for (const [key, value] of named) {
      if (!any && !names.includes(key)) throw new Error(`${name} has no argument "${key}"`)
      this.values.set(key, value)
    }
  }

  at(name: string): Value | undefined
  at(name: string, other: Value): Value
  at(name: string, other?: Value): Value | undefined {
    const value = this.values.get(name)
    return value === undefined ? other : value
  }

  needed(name: string): Value {
    const value = this.values.get(name)
    if (value === undefined) throw new Error(`${this.name} wants the argument "${name}"`)
    return value
  }

  /** A text; undefined where it was not given, or is None. */
  text(name: string): string | undefined {
    const value = this.at(name, null)
    if (value === null) return undefined
    if (!isText(value)) throw new Error(`${this.name} wants a text as "${name}", and got ${typeOf(value)}`)
    return value
  }

  /** A text, of a value of any kind. */
  str(name: string, other: string): string {
    const value = this.values.get(name)
    return value === undefined ? other : str(this.meter, value)
  }

  neededText(name: string): string {
    this.needed(name)
    const text = this.text(name)
    if (text === undefined) throw new Error(`${this.name} wants a text as "${name}", and got None`)
    return text
  }

  integer(name: string, other: number): number {
    const value = this.at(name, null)
    if (value === null) return other
    if (typeof value === 'boolean') return Number(value)
    if (!isInteger(value))
      throw new Error(`${this.name} wants an integer as "${name}", and got ${typeOf(value)}`)
    return Number(value)
  }

  truth(name: string): boolean {
    const value = this.values.get(name)
    return value !== undefined && truth(value)
  }
}

/** A builtin with what stands before it: the text of a method, the operand of a filter or test. */
export type Builtin<T> = readonly [parameters: string, run: (value: T, args: Args, meter: Meter) => Value]

export function bound<T>(meter: Meter, name: string, [parameters, run]: Builtin<T>, value: T): Func {
  return new Func((list, named) => run(value, new Args(meter, `${name}()`, parameters, list, named), meter))
}
