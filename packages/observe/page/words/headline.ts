/** The one sentence: whether the GPU waits, why, and what to do. */

import type { Hello, Now, Told } from '../../dashboard/view.js'
import type { Diagnosis, Remedy } from '../../evidence.js'
import { LEAST_PART } from '../../verdict/thresholds.js'
import { percent, rate } from '../../verdict/units.js'
import { why } from '../../verdict/words.js'
import type { State } from '../state/store.js'
import { lossOf, stillFor, windowOf, worstOf } from '../state/worst.js'
import { age } from './format.js'

/** good: nothing to do. loss: the GPU waits. hint: it does not wait for data, and yet something is worth a look. */
export type Tone = 'good' | 'loss' | 'hint' | 'unknown'

export interface Headline {
  tone: Tone
  /** What is, in big letters, and why, below it. Together they are a sentence. */
  what: string
  why: string
  remedy: Remedy | null
  /** Of which time that is said: `last 15 s`. */
  window?: string
}

/** Less than this (0…1) is nothing. */
const NEVER = 0.001
/** Losses of ranks that differ by less (0…1) are alike. */
export const DIFFERENT = 0.03

export function headline(state: State): Headline {
  const { hello, now } = state
  if (hello === null)
    return unknown(
      state.link === 'lost' ? 'The server does not answer.' : 'Looking for the run.',
      state.link === 'lost'
        ? 'Is `millrace dashboard` still running? This page tries again by itself.'
        : 'A moment.',
    )
  if (hello.run === null) return ofNoRun(hello)
  const worst = worstOf(now)
  if (now === null || worst === null)
    return state.ended === null
      ? unknown(
          'Watching the first steps.',
          'Whether the GPU waits, and why, is said after about a hundred of them.',
        )
      : unknown('It ended before enough was seen.', 'Why a GPU waits is said after about a hundred steps.')
  const who = gpuOf(state)
  const still = standsStill(state, who)
  if (still !== null) return still
  const found = now.told === null ? ofDiagnosis(now.worst!, who) : ofLog(now.told, who)
  const slowest = found.tone === 'loss' && who.many > 1 ? `Rank ${worst.rank} loses most: ` : ''
  return { ...found, why: `${slowest}${found.why}`, window: windowOf(state) }
}

function ofNoRun({ others, missing }: Hello): Headline {
  const gone = missing === null ? '' : `The run ${missing} is not here any more. `
  const count = others.length
  if (count === 0)
    return unknown(
      'No run yet.',
      `${gone}It appears here as soon as a program on this machine opens a feed. Nothing needs to be set.`,
    )
  return unknown(count === 1 ? '1 run is here.' : `${count} runs are here: choose one.`, gone.trim())
}

interface Who {
  one: string
  loses: string
  /** `loses about`, where that is not certain. */
  losesAbout: string
  waits: string
  stands: string
  it: string
  /** Of what something is lost. */
  time: string
  many: number
}

/** What is fed: a GPU where one is seen, several where the run has more ranks. */
function gpuOf({ now, hello }: State): Who {
  const gpu =
    now?.ranks.some(({ gpu }) => gpu !== null && gpu.hasWork !== 0) ||
    now?.worst?.evidence.facts.device !== undefined
  const noun = gpu ? 'GPU' : 'trainer'
  const many = hello?.run?.world ?? 1
  if (many < 2)
    return {
      one: `Your ${noun}`,
      loses: 'loses',
      losesAbout: 'loses about',
      waits: 'waits',
      stands: 'stands',
      it: 'it',
      time: 'of its time',
      many,
    }
  const losses = (now?.ranks ?? []).flatMap(record => lossOf(now!, record) ?? [])
  const differ = losses.length > 0 && Math.max(...losses) - Math.min(...losses) >= DIFFERENT
  return {
    one: `Your ${many} ${noun}s`,
    loses: differ ? 'lose up to' : 'lose',
    waits: 'wait',
    losesAbout: differ ? 'lose up to' : 'lose about',
    stands: 'stand',
    it: 'them',
    time: 'of their time',
    many,
  }
}

/** What was seen before says nothing about now. Null: steps end. */
function standsStill(state: State, who: Who): Headline | null {
  const seconds = stillFor(state)
  if (seconds === null) return null
  const slots = (state.now?.ranks ?? []).flatMap(({ slots }) => slots ?? [])
  const ready = slots.reduce((sum, slot) => sum + slot.ready, 0)
  const what = `${who.one} ${who.stands} still:`
  const why = `no step ended for ${age(seconds)}`
  if (slots.length === 0) return unknown(what, `${why}.`)
  if (ready > 0)
    return {
      tone: 'hint',
      what,
      remedy: null,
      why: `${why}, though ${ready === 1 ? 'a batch lies' : `${ready} batches lie`} ready. The trainer is stopped, or does something else: saving, testing.`,
    }
  return { tone: 'loss', what, why: `${why}, and no batch is ready.`, remedy: null }
}

function ofDiagnosis({ diagnosis: d, accounting }: NonNullable<Now['worst']>, who: Who): Headline {
  const remedy = d.remedies[0] ?? null
  if (d.ceiling === null)
    return {
      tone: 'hint',
      what: `No trainer: the feed alone gives ${rate(accounting.samplesPerSecond)}.`,
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
  if (d.verdict === 'compute-bound') return computeBound(d.lost, who)
  return {
    tone: 'loss',
    what: `${who.one} ${who.loses} ${percent(d.lost)} ${who.time}:`,
    why: `${why(d)}.`,
    remedy,
  }
}

/** A tick stands only where next to nothing is lost. */
function computeBound(lost: number, who: Who): Headline {
  return lost < LEAST_PART
    ? {
        tone: 'good',
        what: `${who.one} ${lost < NEVER ? 'never' : 'hardly ever'} ${who.waits}:`,
        why: `the training step is the limit, the data costs ${who.it} ${percent(lost)}. There is nothing to do.`,
        remedy: null,
      }
    : unknown(
        `${who.one} ${who.loses} ${percent(lost)}, or nothing:`,
        'steps differ by more than that, so it may be chance. It is known when more of them were seen.',
      )
}

function inconclusive(d: Diagnosis, who: Who): Headline {
  const reason = d.evidence[0] ?? 'too little was seen'
  if (d.lost < LEAST_PART) return unknown(`${who.one} ${who.waits} little, as far as is seen:`, `${reason}.`)
  const perhaps = d.second === null ? reason : `p${why(d).slice('Not certain; p'.length)}`
  return {
    tone: 'unknown',
    what: `${who.one} ${who.losesAbout} ${percent(d.lost)}; why is not certain:`,
    why: `${perhaps}.`,
    remedy: d.remedies[0] ?? null,
  }
}

/** Of a rank that is known by its log: its sentence has the loss before the cause, and the remedy after it. */
function ofLog({ lost, why: told }: Told, who: Who): Headline {
  const what = `${who.one} ${who.loses} ${percent(lost)} ${who.time}`
  if (told === null) return unknown(`${what}.`, 'Its log does not say why.')
  if (told.verdict === 'compute-bound') return computeBound(lost, who)
  const [cause] = told.sentence.replace(/^Your trainer loses [^:]*: /, '').split(/\.(?:\s|$)/)
  const tone = told.verdict === 'inconclusive' ? 'unknown' : 'loss'
  return { tone, what: `${what}:`, why: `${cause}.`, remedy: told.remedy }
}

function unknown(what: string, why: string): Headline {
  return { tone: 'unknown', what, why, remedy: null }
}
