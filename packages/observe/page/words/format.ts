/** Numbers and times, as the page writes them. What both the command line and the page write comes from observe/verdict/units.ts. */

/** A space that does not break: a number and its unit stay together. */
export const NBSP = '\u00a0'

export function count(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** A share with one digit always, so that its place stays the same. */
export function share(value: number | null): string {
  return value === null ? '–' : `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)}${NBSP}%`
}

export function dollars(value: number): string {
  return `$${count(value, value < 100 && value > 0 ? 2 : 0)}`
}

/** `14:05`, of the reader's clock. */
export function clock(time: number, seconds = false): string {
  const at = new Date(time)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? `:${two(at.getSeconds())}` : ''}`
}

/** `12 s`, `3 min`, `2 h 5 min`. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 120) return `${whole}${NBSP}s`
  const minutes = Math.floor(whole / 60)
  if (minutes < 120) return `${minutes}${NBSP}min`
  return `${Math.floor(minutes / 60)}${NBSP}h ${minutes % 60}${NBSP}min`
}

/** A duration (ms) with two or three digits. */
export function duration(ms: number): string {
  if (ms >= 1000) return `${count(ms / 1000, ms < 10_000 ? 2 : 1)}${NBSP}s`
  if (ms >= 1) return `${count(ms, ms < 10 ? 2 : ms < 100 ? 1 : 0)}${NBSP}ms`
  return `${count(ms * 1000)}${NBSP}µs`
}
