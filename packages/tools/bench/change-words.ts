/** A change in words, the same in every sentence and table: `−12 % (−20 … −3)`. */
import { type Estimate, LEAST_VALUES } from './statistics.js'

/** So many rounds see a change of some per cent on a quiet machine. */
const ENOUGH = 5

/** Bounds further away than so many times are not said in numbers, unless the change is: they only mean that rounds vary widely. */
const FAR = 10

/** A change and its 95 % interval. */
export function changeText({ value, interval }: Estimate): string {
  return interval === null ? share(value) : `${share(value)} (${boundsOf(value, interval)})`
}

/** The interval alone, for a column of a table. */
export function intervalText({ value, interval }: Estimate): string {
  return interval === null ? '–' : `${boundsOf(value, interval)} %`
}

/** The change alone: `−12 %`. */
export function share(ratio: number): string {
  return `${signed(ratio)} %`
}

/** `2 rounds can't tell: take 5 (--rounds 5)`. */
export function tooFew(rounds: number): string {
  return `${rounds} ${rounds === 1 ? 'round' : 'rounds'} can't tell: take ${ENOUGH} (--rounds ${ENOUGH})`
}

export function areTooFew(rounds: number): boolean {
  return rounds < LEAST_VALUES
}

function boundsOf(value: number, [low, high]: readonly [number, number]): string {
  const least = low < 1 / FAR && value >= 1 / FAR ? `< ${signed(1 / FAR)}` : signed(low)
  const most = high > FAR && value <= FAR ? `> ${signed(FAR)}` : signed(high)
  return `${least} … ${most}`
}

/** Per cent above or below 1, with two or three digits that count. */
function signed(ratio: number): string {
  const change = 100 * (ratio - 1)
  const digits = Math.abs(change) < 9.95 ? 1 : 0
  const text = Math.abs(change)
    .toFixed(digits)
    .replace(/\B(?=(\d{3})+$)/g, ',')
  if (Number(text) === 0) return '0'
  return `${change < 0 ? '−' : '+'}${text}`
}
