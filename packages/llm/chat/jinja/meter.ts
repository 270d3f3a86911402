/** What a template may cost: it is data of others, and may neither hold the process up nor fill its memory. */
import { DecodeError } from '../../../core/basics/errors.js'

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
