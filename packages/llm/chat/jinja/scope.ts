/** The variables of a template while it runs, and what all of them share. */
import type { Meter } from './meter.js'
import { type List, orMissing, type Value } from './values.js'

/** What stands before and behind the text of a generation block. */
export interface Marks {
  open: string
  close: string
}

/** One rendering. */
export interface Run {
  meter: Meter
  marks: Marks
  /** The number of each message, which loops and variables hand on. */
  messages: ReadonlyMap<Value, number>
  globals: ReadonlyMap<string, Value>
}

export class Scope {
  readonly variables = new Map<string, Value>()

  constructor(
    readonly run: Run,
    readonly parent?: Scope,
    /** Of a loop's body. */
    private readonly loop?: { items: List; at: number },
  ) {}

  inner(loop?: { items: List; at: number }): Scope {
    return new Scope(this.run, this, loop)
  }

  get(name: string): Value {
    for (let at: Scope | undefined = this; at !== undefined; at = at.parent) {
      const found = at.variables.get(name)
      if (found !== undefined) return found
    }
    return orMissing(this.run.globals.get(name), name)
  }

  /** The message of the innermost loop or variable; undefined where there is none, or more than one. */
  message(): number | undefined {
    const { messages } = this.run
    for (let at: Scope | undefined = this; at !== undefined; at = at.parent) {
      const values = at.loop === undefined ? at.variables.values() : [at.loop.items[at.loop.at]]
      const found = new Set<number>()
      for (const value of values) {
        const number = messages.get(value)
        if (number !== undefined) found.add(number)
      }
      if (found.size > 0) return found.size === 1 ? [...found][0] : undefined
    }
    return undefined
  }
}
