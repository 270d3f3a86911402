/** Rules of alerts, as people write them: `lost>5% 60s`, `rss>20GB`, `silent 120s`. Parsed and checked; docs/run-log.md. */
import { MillraceError } from '../../basics/errors.js'

/** What a rule may be about. */
export type AlertSubject = 'lost' | 'wait' | 'samples' | 'gpu' | 'rss' | 'bad' | 'silent'

export interface AlertRule {
  /** As it was written. */
  text: string
  subject: AlertSubject
  above: boolean
  /** In the unit of the subject: shares, ms, samples/s, bytes, samples; of `silent` the seconds. */
  limit: number
  /** The mean over so long counts (s); 0: what is seen last. */
  seconds: number
}

interface Kind {
  /** What may follow the number, and what it is worth. The first is for the example of an error. */
  units: Record<string, number>
  /** How long it has to be so, unless the rule says (s). */
  seconds: number
  example: string
  /** More than this it can't be. */
  most?: number
}

const BYTES = { GB: 1e9, MB: 1e6, TB: 1e12, GiB: 2 ** 30, MiB: 2 ** 20, TiB: 2 ** 40 }

const KINDS: Record<Exclude<AlertSubject, 'silent'>, Kind> = {
  lost: { units: { '%': 0.01 }, seconds: 60, example: 'lost>5% 60s', most: 1 },
  wait: { units: { ms: 1, s: 1000, us: 0.001, µs: 0.001 }, seconds: 60, example: 'wait>10ms 30s' },
  samples: { units: { '/s': 1, '': 1 }, seconds: 60, example: 'samples<1000/s 60s' },
  gpu: { units: { '%': 0.01 }, seconds: 60, example: 'gpu<50% 60s', most: 1 },
  rss: { units: BYTES, seconds: 0, example: 'rss>20GB' },
  bad: { units: { '': 1 }, seconds: 0, example: 'bad>10' },
}

/** A window shorter than a record, or longer than a day, is a mistake (s). */
const SHORTEST = 1
const LONGEST = 86_400

const KNOWN = [...Object.values(KINDS).map(({ example }) => example), 'silent 120s']

/** Throws where a rule makes no sense, and says what it could be. */
export function parseAlert(text: string): AlertRule {
  const silent = /^\s*silent\s+(\S+)\s*$/i.exec(text)
  if (silent) {
    const limit = secondsOf(text, silent[1])
    return { text: text.trim(), subject: 'silent', above: true, limit, seconds: 0 }
  }
  const match = /^\s*([a-z]+)\s*([<>])=?\s*([\d.]+(?:e\d+)?)\s*([^\s\d]*)(?:\s+(\S+))?\s*$/i.exec(text)
  if (match === null) throw refusal(text, 'expected a subject, < or >, a number, and for how long')
  const [, name, sign, number, unit, duration] = match
  const kind = Object.hasOwn(KINDS, name.toLowerCase())
    ? KINDS[name.toLowerCase() as keyof typeof KINDS]
    : undefined
  if (kind === undefined)
    throw refusal(
      text,
      `"${name}" is nothing that is known of a run: ${Object.keys(KINDS).join(', ')}, silent`,
    )
  const wanted = Object.keys(kind.units).find(one => one.toLowerCase() === unit.toLowerCase())
  const value = Number(number)
  if (wanted === undefined || !Number.isFinite(value))
    throw refusal(text, `"${number}${unit}" is no amount of "${name}": such as ${kind.example}`)
  const limit = value * kind.units[wanted]
  const above = sign === '>'
  const { most = Number.POSITIVE_INFINITY } = kind
  if (above ? limit >= most : limit <= 0) throw refusal(text, 'that can never be so')
  if (limit > most) throw refusal(text, 'that would always be so')
  return {
    text: text.trim(),
    subject: name.toLowerCase() as AlertSubject,
    above,
    limit,
    seconds: duration === undefined ? kind.seconds : secondsOf(text, duration),
  }
}

function secondsOf(rule: string, text: string): number {
  const match = /^([\d.]+)(s|m|min|h)$/i.exec(text)
  const factor = { s: 1, m: 60, min: 60, h: 3600 }[match?.[2].toLowerCase() ?? ''] ?? Number.NaN
  const seconds = Number(match?.[1]) * factor
  if (seconds >= SHORTEST && seconds <= LONGEST) return seconds
  throw refusal(rule, `"${text}" is no time from 1s to 24h, such as 60s, 5m or 1h`)
}

function refusal(text: string, problem: string): MillraceError {
  return new MillraceError(`alert "${text}": ${problem}. Rules look like ${KNOWN.join(', ')}`)
}
