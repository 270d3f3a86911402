/** A diagnosis in words: one line, or the text that `millrace diagnose` prints. */
import { PART_NAMES, PARTS, partName } from '../account/parts.js'
import type { Accounting, Diagnosis, MakerWork, Parts, Remedy, VerdictName } from '../evidence.js'
import { supplyOf } from './causes.js'
import { LEAST_PART } from './thresholds.js'
import { gain, percent } from './units.js'

/** Why and what to do, in one line. */
export function sentence(d: Diagnosis): string {
  return [`${loses(d)}${why(d)}.`, ...best(d)].join(' ')
}

/** Why alone, in some words: `2 workers can't decode fast enough`. Null: nothing is lost, or no cause is seen. */
export function cause(d: Diagnosis): string | null {
  if (d.verdict === 'compute-bound') return null
  if (d.verdict !== 'inconclusive') return WHY[d.verdict](verb(d.stage), d)
  return d.second === null ? null : `perhaps ${WHY[d.second](verb(d.stage), d)}`
}

/** A run that goes on: `lost 8.1 %: 2 workers can't decode fast enough`. Null: no step was seen. */
export function progressLine({ steps, lost }: Accounting, d: Diagnosis): string | null {
  if (steps === 0) return null
  const why = d.verdict === 'inconclusive' ? null : cause(d)
  return `lost ${tenths(lost)}${why === null ? '' : `: ${why}`}`
}

/** An epoch that is over: what was lost, and to what. `certain`: nothing was, or it is known why. Null: no step was seen. */
export function epochLine(
  { steps, lost, parts }: Accounting,
  d: Diagnosis,
): { line: string | null; certain: boolean } {
  if (steps === 0) return { line: null, certain: true }
  if (lost < LEAST_PART) return { line: `compute-bound (${tenths(lost)} lost)`, certain: true }
  const [most] = PART_NAMES.filter(part => part !== 'ideal').sort((a, b) => parts[b] - parts[a])
  const line = `lost ${tenths(lost)}, mostly to ${PARTS[most].help}`
  if (d.verdict !== 'inconclusive') {
    const text = [`${why(d)}.`, ...best(d)].join(' ').replace(/\.$/, '')
    return { line: `${line}: ${text}`, certain: true }
  }
  // Of a short loop, the rest of the workers between its steps looks like that.
  const unseen = d.second === null || most === 'noSlot'
  return { line: unseen ? `lost ${tenths(lost)}: too little was seen to say why` : line, certain: false }
}

/** With one digit always, so that lines below each other can be compared. */
function tenths(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

/** The text of `millrace diagnose`. */
export function explain(d: Diagnosis): string {
  const second =
    d.second === null ? '' : d.verdict === 'inconclusive' ? ` (perhaps ${d.second})` : ` (then ${d.second})`
  const lines = [sentence(d), '', `verdict   ${d.verdict}${second}`, ...bars(d.parts, d.workers)]
  if (d.ceiling !== null && d.lost > 0)
    lines.push(`ceiling   ${gain(d.ceiling, null)} with every batch at hand`)
  lines.push('', 'evidence', ...d.evidence.map(line => `  - ${line}`))
  if (d.remedies.length > 0) lines.push('', 'what to do', ...d.remedies.flatMap(remedy))
  return `${lines.join('\n')}\n`
}

function loses(d: Diagnosis): string {
  if (d.verdict === 'inconclusive') return ''
  if (d.ceiling === null) return 'The feed alone, without a trainer: '
  if (d.verdict === 'compute-bound' || d.verdict === 'launch-bound') return ''
  if (d.verdict === 'start-up' && supplyOf(d.parts) < LEAST_PART) return 'Your trainer begins late: '
  return `Your trainer loses ${percent(d.lost)}: `
}

/** The cause alone: what stands after `Your trainer loses 31 %: `. */
export function why(d: Diagnosis): string {
  if (d.verdict !== 'inconclusive') return WHY[d.verdict](verb(d.stage), d)
  return d.second === null
    ? 'Too little was seen to name a cause'
    : `Not certain; perhaps ${WHY[d.second](verb(d.stage), d)}`
}

function makers({ workers }: Diagnosis): string {
  if (workers === 0) return 'without workers, it'
  return workers === undefined ? 'the workers' : `${workers} ${workers === 1 ? 'worker' : 'workers'}`
}

/** What makers do most, as a verb. */
function verb(stage: keyof MakerWork | null): string {
  return stage === null ? 'make batches' : VERBS[stage]
}

const VERBS: Record<keyof MakerWork, string> = {
  open: 'open files',
  read: 'read',
  decode: 'decode',
  transform: 'transform',
  map: 'run your function',
  close: 'close batches',
}

const WHY: Record<VerdictName, (verb: string, d: Diagnosis) => string> = {
  'compute-bound': (_, d) =>
    d.lost < LEAST_PART
      ? `The trainer is the limit: the data costs it ${percent(d.lost)}`
      : `The trainer seems to be the limit: the data cost it ${percent(d.lost)} here, but that varies so much that it may be nothing`,
  'launch-bound': () => 'The data is in time, but the GPU waits for its kernels to be launched',
  'crowding-trainer': () => 'workers take cores that the trainer needs',
  'hand-over': () => 'batches are complete, but taking them takes too long',
  'transfer-bound': () => 'it waits for batches to be copied to the device',
  'start-up': () => 'it waits at the first batch and when epochs begin',
  'storage-bandwidth': () => 'the storage gives no more bytes a second',
  'cache-warm-up': () => 'the data is read for the first time; it fits into memory',
  'io-latency': () => 'the storage takes long to answer, and too few reads are in flight for that',
  'small-files': () => 'opening many small files takes longer than reading them',
  'your-function': () => 'your function waits for something',
  'under-parallel': (verb, d) => `${makers(d)} can't ${verb} fast enough, and cores are free`,
  'cpu-saturated': verb => `all cores are busy; there are too few to ${verb} fast enough`,
  'crowded-host': () => 'other processes use the cores that the workers need',
  variance: () => 'workers are fast enough on average, but some batches take much longer',
  straggler: () => 'one worker or rank is much slower than the others',
  'memory-pressure': () => 'memory is short',
  'runtime-pause': () => 'garbage collection stops the work',
  inconclusive: () => 'not certain',
  slowed: () => 'its own work takes longer than it should',
  running: (verb, d) => `${makers(d)} can't ${verb} fast enough`,
  queued: () => 'workers wait for cores',
  blocked: () => 'workers wait for the storage or for a function',
  'no-slot': () => 'workers had no free slot while it waited',
}

/** The best remedy, where its gain is known; otherwise the first. */
function best({ remedies }: Diagnosis): string[] {
  if (remedies.length === 0) return []
  const { action, predictedGain, interval } = remedies[0]
  const what = action.split(':')[0]
  if (predictedGain === null) return [`${what}.`]
  return [`${what.replace(/ in place of \d+$/, '')}: ${gain(predictedGain, interval)}.`]
}

/** Each part as a bar of up to 40 characters. */
export function bars(parts: Parts, workers?: number): string[] {
  const some = PART_NAMES.filter(part => part === 'ideal' || parts[part] >= 0.005)
  return some.map((part, i) => {
    const bar = '█'.repeat(Math.max(0, Math.round(40 * parts[part])))
    return `${(i === 0 ? 'a step' : '').padEnd(10)}${partName(part, workers).padEnd(26)}${percent(parts[part]).padStart(6)}  ${bar}`.trimEnd()
  })
}

function remedy({ action, predictedGain, interval, warning }: Remedy): string[] {
  const gains = predictedGain === null ? 'gain not predicted' : gain(predictedGain, interval)
  return [`  - ${action}`, `    ${gains}${warning === undefined ? '' : `. ${warning}`}`]
}
