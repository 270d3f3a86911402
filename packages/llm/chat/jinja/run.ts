/** What a template may cost: it is data of others, and may neither hold the process up nor fill its memory. */
import { DecodeError } from '../../../core/basics/errors.js'
import { type List, orMissing, type Value } from './values.js'

/** Characters of any text that a template makes. */
const MOST_CHARACTERS = 32 << 20
/** Units of work for one rendering: a character read or made is one, an item of a list 32, a step 64. A second's worth. */
const MOST_WORK = 128 << 20
const STEP = 64
const ITEM = 32

/** Charged before memory is taken. It counts work, not time: which conversations are refused depends on no machine. */
export class Meter {
  private left = MOST_WORK

  charge(units: number): void {
    this.left -= units
    if (!(this.left >= 0))
      throw new DecodeError(
        'the template takes more steps for one conversation than Millrace allows: it loops too long, or makes texts and lists that are too large',
      )
  }

  step(): void {
    this.charge(STEP)
  }

  items(count: number): void {
    this.charge(ITEM * count)
  }

  /** A text of so many characters is made, so many of them now. */
  text(characters: number, now = characters): void {
    if (characters > MOST_CHARACTERS)
      throw new DecodeError(`the template makes a text of more than ${MOST_CHARACTERS} characters`)
    this.charge(now)
  }
}

/** A text that is made piece by piece. */
export class Output {
  private length = 0
  private readonly parts: string[] = []

  constructor(private readonly meter: Meter) {}

  add(part: string): void {
    this.length += part.length
    this.meter.charge(ITEM)
    this.meter.text(this.length, part.length)
    this.parts.push(part)
  }

  text(): string {
    return this.parts.join('')
  }
}

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
