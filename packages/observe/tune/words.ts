/** What the tuner says of what it does, in sentences. */
import { decoderPlace } from '../../core/basics/decoder.js'
import { supplyOf } from '../verdict/causes.js'
import { judge } from '../verdict/judge.js'
import { gain, percent } from '../verdict/units.js'
import { MUCH } from './candidates.js'
import type { CheckResult } from './check.js'
import type { Candidate, Weighed } from './seen.js'

export const WATCHING = 'watching'
export const FROZEN = 'all is well: nothing is tried'

export function checking({ knob, from, to }: Candidate): string {
  if (knob === 'decode') return `decoding images on ${decoderPlace(to)}, in place of ${decoderPlace(from)}`
  return `trying ${NAMES[knob]} ${to} in place of ${from}`
}

export function allWell(lost: number): string {
  return `The trainer loses ${percent(lost)}: nothing is tried while it loses less than 3 %.`
}

export function trying(candidate: Candidate, { evidence, accounting }: Weighed): string {
  const { predicted, knob } = candidate
  const tried =
    knob === 'decode'
      ? 'what that brings can only be measured'
      : `the model promises nothing, but ${lossOf(candidate, accounting)}, so its neighbourhood is tried`
  const promise = predicted === null ? tried : `predicted ${gain(predicted.gain, predicted.interval)}`
  const { verdict } = judge(evidence)
  const why = verdict === 'inconclusive' ? '' : ` (${verdict})`
  return `The trainer loses ${percent(accounting.lost)}${why}: ${checking(candidate)}, ${promise}.`
}

/** What is lost that the model does not explain. */
function lossOf({ knob, from, to }: Candidate, { parts }: Weighed['accounting']): string {
  const fewer = knob === 'workers' && to < from
  return fewer && supplyOf(parts) < MUCH ? 'workers take cores from the trainer' : 'batches are waited for'
}

export function concluded(
  candidate: Candidate,
  { kept, measured, early }: CheckResult,
  pause: number,
): string {
  const { knob, from, to } = candidate
  const what = measured === null ? 'nothing could be measured' : came(measured)
  if (knob === 'decode') return decoded(candidate, kept, early, what)
  if (kept) return `${capital(NAMES[knob])} ${to} stay: ${what}.`
  const why = early === undefined ? what : `${early} (${what})`
  return `${capital(NAMES[knob])} ${from} again: ${why}. The next try of it in ${Math.round(pause / 1000)} s at the earliest.`
}

export function cutShort({ knob, from }: Candidate, why: string): string {
  if (knob === 'decode') return `Images are decoded on ${decoderPlace(from)} again: ${why}.`
  return `${capital(NAMES[knob])} ${from} again: ${why}.`
}

/** What a change brought. Where that is less than its uncertainty, with the interval. */
function came({ gain: value, interval }: NonNullable<CheckResult['measured']>): string {
  const [least, most] = interval
  if (Math.max(value - least, most - value) <= value) return `it came ${gain(value, interval)}`
  const text = (share: number) => gain(share, null).replace(' %', '')
  return `it came ${gain(value, null)}, within ${text(least)} and ${text(most)} %`
}

function decoded({ from, to }: Candidate, kept: boolean, early: string | undefined, what: string): string {
  if (kept) return `Images are decoded on ${decoderPlace(to)}: ${what} against ${decoderPlace(from)}.`
  return `Not on ${decoderPlace(to)}: ${early === undefined ? what : `${early} (${what})`} against ${decoderPlace(from)}.`
}

export function keepsUp(twentieths: number, lost: number): string {
  return `Images are decoded on ${decoderPlace(twentieths)}: it keeps up, the trainer loses ${percent(lost)}.`
}

export function changed(what: string): string {
  return `The work has changed: ${what}. All is looked at anew.`
}

const NAMES: Record<Candidate['knob'], string> = {
  workers: 'workers',
  depth: 'depth',
  claim: 'rows per claim',
  ahead: 'rows hinted ahead',
  decode: 'who decodes',
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1)
}
