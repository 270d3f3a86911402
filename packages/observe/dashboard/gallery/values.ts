/** Values of a row that are no pictures, in words. */
import type { FieldPlace } from '../../../core/batch/layout.js'
import type { Elements } from './elements.js'

/** Numbers of a list that are shown, and characters of a text. */
const SHOWN = 8
const SHOWN_TEXT = 300
/** Parts of a mixed label below this are left out. */
const LEAST_PART = 0.01

export interface About {
  place: Pick<FieldPlace, 'form' | 'shape' | 'dtype'>
  /** Along the varying axis. */
  length: number
  as?: string
  classes?: readonly string[]
}

export function numbersIn(elements: Elements): number[] {
  return Array.from({ length: elements.length }, (_, i) => elements.at(i))
}

export function textIn(bytes: Uint8Array, length: number): string {
  const text = Buffer.from(bytes).toString('utf8')
  const shown = text.slice(0, SHOWN_TEXT)
  return shown.length < text.length || bytes.length < length ? `${shown}…` : shown
}

export function inWords(numbers: readonly number[], { place, length, classes, as }: About): string {
  const { form, shape, dtype } = place
  const isScalar = form === 'dense' && shape.length === 0
  if (isScalar) return dtype === 'bool' ? String(numbers[0] !== 0) : named(numbers[0], classes)
  // mixup and cutmix make a label into shares of all classes.
  if (form === 'dense' && shape.length === 1 && as !== 'npy' && numbers.length === shape[0])
    return mixed(numbers, classes)
  const counts = form === 'dense' ? shape : [length, ...shape]
  const shown = numbers.slice(0, SHOWN).map(short).join(', ')
  const total = counts.reduce((product, n) => product * n, 1)
  return `[${counts.join(' × ')}] ${shown}${total > SHOWN ? ', …' : ''}`
}

function mixed(numbers: readonly number[], classes: readonly string[] | undefined): string {
  const parts = numbers.map((share, i) => [share, i] as const).filter(([share]) => share >= LEAST_PART)
  parts.sort(([a], [b]) => b - a)
  return parts
    .slice(0, 3)
    .map(([share, i]) => `${named(i, classes)} ${Math.round(100 * share)} %`)
    .join(', ')
}

function named(number: number, classes: readonly string[] | undefined): string {
  const name = classes?.[number]
  return name === undefined ? short(number) : `${name} (${number})`
}

function short(number: number): string {
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4)))
}
