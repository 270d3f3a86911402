/** The date that a template asks for: what was given as `now`, never the clock, so that the same data give the same tokens. */
import { DecodeError } from '../../core/basics/errors.js'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)

/** `strftime_now` for a given moment, such as "2024-07-26" or "2024-07-26T09:30:00"; there is no time zone in it. */
export function strftime(now: string | undefined, format: string): string {
  if (now === undefined)
    throw new DecodeError(
      'the template writes today\'s date: say which, so that tokens do not depend on the day they are made: "now": "2024-07-26"',
    )
  const date = new Date(`${now.length === 10 ? `${now}T00:00:00` : now.replace(' ', 'T')}Z`)
  if (Number.isNaN(date.getTime())) throw new DecodeError(`"now": "${now}" is no date`)
  const [hour, month, day] = [date.getUTCHours(), date.getUTCMonth(), date.getUTCDate()]
  const start = Date.UTC(date.getUTCFullYear(), 0, 1)
  const two = (value: number) => String(value).padStart(2, '0')
  const parts: Record<string, () => string> = {
    Y: () => String(date.getUTCFullYear()).padStart(4, '0'),
    y: () => two(date.getUTCFullYear() % 100),
    m: () => two(month + 1),
    d: () => two(day),
    e: () => String(day).padStart(2, ' '),
    b: () => MONTHS[month].slice(0, 3),
    h: () => MONTHS[month].slice(0, 3),
    B: () => MONTHS[month],
    a: () => WEEKDAYS[date.getUTCDay()].slice(0, 3),
    A: () => WEEKDAYS[date.getUTCDay()],
    H: () => two(hour),
    I: () => two(hour % 12 || 12),
    p: () => (hour < 12 ? 'AM' : 'PM'),
    M: () => two(date.getUTCMinutes()),
    S: () => two(date.getUTCSeconds()),
    j: () => String(Math.floor((date.getTime() - start) / 86_400_000) + 1).padStart(3, '0'),
    F: () => `${parts.Y()}-${parts.m()}-${parts.d()}`,
    T: () => `${parts.H()}:${parts.M()}:${parts.S()}`,
    '%': () => '%',
  }
  return format.replace(/%(-?)([A-Za-z%])/g, (all, minus: string, letter: string) => {
    const part = parts[letter]
    if (part === undefined)
      throw new DecodeError(`the template asks for the date as ${all}, which is not known here`)
    return minus === '-' ? part().replace(/^[0 ]+(?=.)/, '') : part()
  })
}
