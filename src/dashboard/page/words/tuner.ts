/** What the tuner did, in words and signs. */
import type { Knob, TunerDecision } from '../../../observe/live/decision.js'
import { percent } from '../../../observe/verdict/units.js'

export const MARKS: Record<TunerDecision['event'], { sign: string; word: string }> = {
  tried: { sign: '◇', word: 'tried' },
  kept: { sign: '◆', word: 'kept' },
  reverted: { sign: '✕', word: 'taken back' },
  refused: { sign: '–', word: 'refused' },
  frozen: { sign: '❚', word: 'at rest' },
  woken: { sign: '▲', word: 'woken' },
}

const KNOBS: Record<Knob, string> = {
  workers: 'workers',
  depth: 'depth',
  claim: 'rows a claim',
  ahead: 'hints ahead',
  decode: 'decoding on',
  binding: 'binding',
}

export function eventWords(event: TunerDecision['event']): string {
  const { word } = MARKS[event]
  return `${word[0].toUpperCase()}${word.slice(1)}`
}

/** What the tuner has brought so far: `From 67 % lost: workers 2 → 7.` Empty where nothing was kept. */
export function earned(decisions: readonly TunerDecision[]): string {
  const kept = decisions.filter(({ event, knob }) => event === 'kept' && knob !== null)
  const first = decisions.find(({ event }) => event === 'tried')
  if (kept.length === 0 || first === undefined) return ''
  const knobs = [...new Set(kept.map(({ knob }) => knob))].map(knob => {
    const own = kept.filter(one => one.knob === knob)
    return settingOf({ ...own[0], to: own.at(-1)!.to })
  })
  return `It began with ${percent(first.lost)} lost: ${knobs.join(', ')}.`
}

/** `workers 4 → 7`. Nothing where nothing was set. */
export function settingOf({ knob, from, to }: TunerDecision): string {
  if (knob === null) return ''
  if (from === null || to === null) return KNOBS[knob]
  return `${KNOBS[knob]} ${from} → ${to}`
}
