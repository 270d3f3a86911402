/** How much is written of a feed: as its opener says, unless the environment does. */
import { LEVEL_NAMES, type LevelName, SpanLevel } from './span-words.js'

/** Off with 0, to measure what spans cost; or a level. It holds for feeds that are opened from then on. */
const SWITCH = 'MILLRACE_SPANS'

export function spansAreOff(): boolean {
  return process.env[SWITCH] === '0'
}

/** The level of a feed that is opened now, and whose opener asks for this one. Undefined: nothing is written. */
export function levelOf(observe: LevelName | undefined): SpanLevel | undefined {
  if (spansAreOff()) return undefined
  return numberOf(process.env[SWITCH]) ?? numberOf(observe) ?? SpanLevel.Spans
}

function numberOf(name: unknown): SpanLevel | undefined {
  const number = name ? LEVEL_NAMES.indexOf(name as LevelName) : -1
  return number > 0 ? (number as SpanLevel) : undefined
}
