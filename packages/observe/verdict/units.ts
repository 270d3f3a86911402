/** Numbers in words. */
import type { MakerWork } from '../evidence.js'
import { LEAST_GAIN } from './thresholds.js'

/** What each kind of work is called. */
export const STAGES: Record<keyof MakerWork, string> = {
  open: 'opening files',
  read: 'reading',
  decode: 'decoding',
  transform: 'transforming',
  map: 'your function',
  close: 'closing batches',
}

export function percent(share: number): string {
  const value = 100 * share
  return `${Math.abs(value) < 10 && value !== 0 ? Math.round(value * 10) / 10 : Math.round(value)} %`
}

export function ms(value: number): string {
  if (value >= 9950) return `${round(value / 1000)} s`
  return value > 0 && value < 0.1 ? `${Math.round(value * 1000)} µs` : `${round(value)} ms`
}

/** Two or three digits that count. */
function round(value: number): string {
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0
  return String(Number(value.toFixed(digits)))
}

export function cores(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '')
}

/** `1 core`, `1.2 cores`. */
export function someCores(value: number): string {
  return `${cores(value)} ${cores(value) === '1' ? 'core' : 'cores'}`
}

export function count(value: number): string {
  // Not toLocaleString, which takes longer than all the rest of a diagnosis in words.
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

export function rate(samplesPerSecond: number): string {
  return `${samplesPerSecond < 10 ? round(samplesPerSecond) : count(samplesPerSecond)} samples/s`
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let left = value
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000
    unit++
  }
  return `${round(left)} ${units[unit]}`
}

/**
 * A gain with its interval: `+38 % (±8)`. Where the interval is wider than the gain, in words: what it is at least, or that it is
 * not certain.
 */
export function gain(value: number, interval: readonly [number, number] | null): string {
  const number = (share: number) => Math.round(100 * share)
  const text = (share: number) => `${number(share) < 0 ? '−' : '+'}${Math.abs(number(share))} %`
  if (interval === null) return text(value)
  const half = Math.max(value - interval[0], interval[1] - value)
  if (half <= value) return `${text(value)} (±${Math.max(1, number(half))})`
  return surelyGains(interval)
    ? `at least ${text(interval[0])}, perhaps ${text(value)}`
    : `gain not certain, perhaps ${text(value)}`
}

/** Whether all of an interval is a gain that can be told from noise. */
export function surelyGains(interval: readonly [number, number] | null): boolean {
  return interval !== null && interval[0] >= LEAST_GAIN
}
