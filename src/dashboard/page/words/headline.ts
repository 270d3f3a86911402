/** The one sentence: whether the GPU waits, why, and what to do. */
import type { Diagnosis, Remedy } from '../../../observe/evidence.js'
import { LEAST_PART } from '../../../observe/verdict/thresholds.js'
import { gain, percent, rate } from '../../../observe/verdict/units.js'
import { why } from '../../../observe/verdict/words.js'
import type { State } from '../state/store.js'

/** good: nothing to do. loss: the GPU waits. hint: it does not wait for data, and yet something is worth a look. */
export type Tone = 'good' | 'loss' | 'hint' | 'unknown'

export interface Headline {
  tone: Tone
  /** What is, in big letters, and why, below it. Together they are a sentence. */
  what: string
  why: string
  remedy: Remedy | null
}

/** Less than this (0…1) is nothing. */
const NEVER = 0.001

export function headline(state: State): Headline {
  const { hello, now } = state
  if (hello === null)
    return unknown(
      state.link === 'lost' ? 'The server does not answer.' : 'Looking for the run.',
      state.link === 'lost'
        ? 'Is `millrace dashboard` still running? This page tries again by itself.'
        : 'A moment.',
    )
  if (hello.run === null)
    return unknown(
      'No run yet.',
      'It appears here as soon as a program on this machine opens a feed. Nothing needs to be set.',
    )
  if (now === null || now.worst === null)
    return unknown(
      'Watching the first steps.',
      'Whether the GPU waits, and why, is said after about a hundred of them.',
    )
  const { diagnosis, rank } = now.worst
  const who = gpuOf(state)
  const found = ofDiagnosis(diagnosis, who, now.worst.accounting.samplesPerSecond)
  const many = (hello.run.world ?? 1) > 1 && found.tone === 'loss'
  return many ? { ...found, why: `Rank ${rank} is the slowest: ${found.why}` } : found
}

/** What is fed: a GPU where one is seen, several where the run has more ranks. */
function gpuOf({ now, hello }: State): { one: string; loses: string; waits: string; it: string } {
  const gpu =
    now?.ranks.some(({ gpu }) => gpu !== null && gpu.hasWork !== 0) ||
    now?.worst?.evidence.facts.device !== undefined
  const noun = gpu ? 'GPU' : 'trainer'
  const world = hello?.run?.world ?? 1
  return world > 1
    ? { one: `Your ${world} ${noun}s`, loses: 'lose', waits: 'wait', it: 'them' }
    : { one: `Your ${noun}`, loses: 'loses', waits: 'waits', it: 'it' }
}

function ofDiagnosis(d: Diagnosis, who: ReturnType<typeof gpuOf>, samples: number): Headline {
  const remedy = d.remedies[0] ?? null
  if (d.ceiling === null)
    return {
      tone: 'hint',
      what: `No trainer: the feed alone gives ${rate(samples)}.`,
      why: `Its limit: ${why(d)}.`,
      remedy,
    }
  if (d.verdict === 'inconclusive') return inconclusive(d, who)
  if (d.verdict === 'launch-bound')
    return {
      tone: 'hint',
      what: `${who.one} never ${who.waits} for data,`,
      why: `but ${who.waits} for ${who.it === 'it' ? 'its' : 'their'} kernels to be launched.`,
      remedy,
    }
  if (d.verdict === 'compute-bound')
    return d.lost < LEAST_PART
      ? {
          tone: 'good',
          what: `${who.one} ${d.lost < NEVER ? 'never' : 'hardly ever'} ${who.waits}:`,
          why: `the data costs ${who.it} ${percent(d.lost)}. There is nothing to do.`,
          remedy: null,
        }
      : {
          tone: 'good',
          what: `${who.one} hardly ${who.waits}:`,
          why: `the data cost ${who.it} ${percent(d.lost)} in the last seconds, which is within what steps vary by.`,
          remedy: null,
        }
  return { tone: 'loss', what: `${who.one} ${who.loses} ${percent(d.lost)}:`, why: `${why(d)}.`, remedy }
}

function inconclusive(d: Diagnosis, who: ReturnType<typeof gpuOf>): Headline {
  const reason = d.evidence[0] ?? 'too little was seen'
  if (d.lost < LEAST_PART)
    return {
      tone: 'unknown',
      what: `${who.one} ${who.waits} little, as far as is seen:`,
      why: `${reason}.`,
      remedy: null,
    }
  const perhaps = d.second === null ? reason : `p${why(d).slice('Not certain; p'.length)}`
  return {
    tone: 'unknown',
    what: `${who.one} ${who.loses} about ${percent(d.lost)}; why is not certain:`,
    why: `${perhaps}.`,
    remedy: d.remedies[0] ?? null,
  }
}

function unknown(what: string, why: string): Headline {
  return { tone: 'unknown', what, why, remedy: null }
}

/** `7 workers instead of 4`, and the rest of the action: `--workers 7, or …`. */
export function titleOf({ action }: Remedy): { title: string; detail: string } {
  const colon = action.indexOf(': ')
  if (colon < 0) return { title: action, detail: '' }
  return {
    title: action.slice(0, colon).replace(' in place of ', ' instead of '),
    detail: action.slice(colon + 2),
  }
}

/** `+38 % (±8)`; null where it is not known before it is tried. */
export function gainOf({ predictedGain, interval }: Remedy): string | null {
  return predictedGain === null ? null : gain(predictedGain, interval)
}
