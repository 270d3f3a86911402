/** Quantities as people read and write them: bytes, counts, durations, rates, money. */
import { count } from '../../observe/verdict/units.js'

/** `1281167` → `1,281,167`. */
export { count }

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Powers of ten and of two by the suffix a person may type after a number of bytes. */
const BYTE_SUFFIXES: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** `1536` → `1.50 KiB`. */
export function bytes(n: number): string {
  let unit = 0
  while (Math.abs(n) >= 1024 && unit < BINARY.length - 1) {
    n /= 1024
    unit++
  }
  return unit === 0 ? `${Math.round(n)} B` : `${digits3(n)} ${BINARY[unit]}`
}

/** `256MiB`, `3e9`, `1.5 GB` → bytes; undefined when it is no quantity of bytes. */
export function parseBytes(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([a-z]*)\s*$/i.exec(text)
  const factor = match && BYTE_SUFFIXES[match[2].toLowerCase()]
  return factor ? Math.round(Number(match[1]) * factor) : undefined
}

/** Powers of ten by the suffix after an amount: a B of tokens or parameters is a billion. */
const AMOUNT_SUFFIXES: Record<string, number> = { '': 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12, p: 1e15 }

/** `100B`, `1.5M`, `3e9` → a number; undefined when it is none. */
export function parseAmount(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([a-z]?)\s*$/i.exec(text)
  const factor = match && AMOUNT_SUFFIXES[match[2].toLowerCase()]
  return factor ? Number(match[1]) * factor : undefined
}

/** `5e11` → `500 B`, `1.25e6` → `1.25 M`. */
export function amount(n: number): string {
  const [size, suffix] = [
    [1e15, ' P'],
    [1e12, ' T'],
    [1e9, ' B'],
    [1e6, ' M'],
    [1e3, ' k'],
    [1, ''],
  ].find(([size]) => n >= 0.9995 * (size as number)) ?? [1, '']
  const scaled = n / (size as number)
  return `${Number.isInteger(scaled) ? scaled : digits3(scaled)}${suffix}`
}

/** Seconds as people plan with them: `2.31 days`, `5.20 hours`. */
export function longTime(seconds: number): string {
  if (seconds >= 2 * 86_400) return `${digits3(seconds / 86_400)} days`
  return seconds >= 2 * 3600 ? `${digits3(seconds / 3600)} hours` : duration(seconds)
}

/** A count with its noun: `1 shard`, `3 shards`. */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`
}

/** `0.0123` s → `12.3 ms`, `75` → `1:15`, `7200` → `2:00:00`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 1e-3) return `${digits3(seconds * 1e6)} µs`
  if (seconds < 1) return `${digits3(seconds * 1e3)} ms`
  if (seconds < 60) return `${digits3(seconds)} s`
  const whole = Math.round(seconds)
  const two = (n: number) => String(n).padStart(2, '0')
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** Three significant digits for small rates, whole numbers for large ones: `2,431/s`. */
export function rate(perSecond: number, unit = ''): string {
  return `${perSecond >= 100 ? count(perSecond) : digits3(perSecond)}${unit && ` ${unit}`}/s`
}

/** `0.934` → `93.4 %`. */
export function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`
}

/** `1.5` → `$1.50`. */
export function money(amount: number, currency = '$'): string {
  return `${currency}${amount.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',')}`
}

function digits3(n: number): string {
  const size = Math.abs(n)
  return size >= 99.95 ? n.toFixed(0) : size >= 9.995 ? n.toFixed(1) : n.toFixed(2)
}
