/** What the tuner did, in words and signs. */
import { decoderPlace } from '../../../core/basics/decoder.js'
import type { Knob } from '../../../core/deliver/ring-tuner.js'
import type { TunerDecision } from '../../live/record.js'
import { gain, percent } from '../../verdict/units.js'

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
  depth: 'batches ahead',
  claim: 'rows a claim',
  ahead: 'rows hinted ahead',
  decode: 'decoding on',
}

export function eventWords(event: TunerDecision['event']): string {
  const { word } = MARKS[event]
  return `${word[0].toUpperCase()}${word.slice(1)}`
}

/** What the tuner has brought so far: `67 % were lost at first; then workers 2 → 7.` Empty where nothing was kept. */
export function earned(decisions: readonly TunerDecision[]): string {
  const kept = decisions.filter(({ event, knob, from, to }) => event === 'kept' && knob && from !== to)
  const first = decisions.find(({ event }) => event === 'tried')
  if (kept.length === 0 || first === undefined) return ''
  const knobs = [...new Set(kept.map(({ knob }) => knob))].map(knob => {
    const own = kept.filter(one => one.knob === knob)
    return settingOf({ ...own[0], to: own.at(-1)!.to })
  })
  return `${percent(first.lost)} were lost at first; then ${knobs.join(', ')}.`
}

/** `workers 4 → 7`, `decoding on the CPU → the GPU`. Nothing where nothing was set. */
export function settingOf({ knob, from, to }: Pick<TunerDecision, 'knob' | 'from' | 'to'>): string {
  if (knob === null) return ''
  if (from === null || to === null) return KNOBS[knob]
  if (from === to) return `${KNOBS[knob]} ${wordOf(knob, to)}, as before`
  return `${KNOBS[knob]} ${wordOf(knob, from)} → ${wordOf(knob, to)}`
}

/** Who decodes is a number in the engine: twentieths of the images for the CPU. */
function wordOf(knob: Knob, value: number | string): string {
  return knob === 'decode' && typeof value === 'number' ? decoderPlace(value) : String(value)
}

/** What the tuner does now. What it tries is said here, with names of this page; all else it says itself. */
export function stateOf({ state, decisions }: { state: string; decisions: TunerDecision[] }): string {
  const last = decisions.at(-1)
  if (last?.event === 'tried') {
    const promise = last.predicted ? `, predicted ${gain(last.predicted.gain, last.predicted.interval)}` : ''
    return `Trying ${settingOf(last)}${promise}, in turns with what was: what is faster stays. You need do nothing.`
  }
  const text = state.trim()
  return text === '' ? '' : `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
