/** The numbers behind a verdict, as sentences. */
import type { VerdictName } from '../evidence.js'
import { sum } from '../model/estimate.js'
import { doubledGain } from '../model/fit.js'
import { capacity } from '../model/predict.js'
import { type Case, demand, gcShare, missingCores, slowMaker, slowRank, trainerDelay } from './case.js'
import { supplyOf } from './causes.js'
import { bytes, cores, count, ms, percent, rate, STAGES, someCores } from './units.js'

type Line = (c: Case) => (string | null)[]

export function evidenceLines(c: Case, verdict: VerdictName, second: VerdictName | null): string[] {
  const lines = [
    ...stepLine(c),
    ...LINES[verdict](c),
    ...(second === null ? [] : LINES[second](c)),
    ...caveats(c),
  ]
  const found = lines.filter(line => line !== null)
  return found.filter((line, i) => found.indexOf(line) === i)
}

function stepLine({ a }: Case): string[] {
  const from = a.idealFrom === 'upper' ? ', at most' : ''
  const without =
    a.idealMs > 0.001 * a.stepMs ? `; with every batch at hand it would take ${ms(a.idealMs)}${from}` : ''
  return [`a step took ${ms(a.stepMs)} over ${count(a.steps)} steps${without}`]
}

/** What could not be known. */
function caveats({ e, a }: Case): (string | null)[] {
  return [
    a.idealFrom === 'upper'
      ? "whether the workers slow the trainer is not known: give a step's own time (--step-ms, in Python step_ms)"
      : null,
    a.makers.cpuMsPerSample === null && e.makers.length > 0
      ? "the system tells no CPU time of threads: the workers' time is divided by kind of work"
      : null,
    e.host === null ? 'the machine was not looked at: other processes may have used its cores' : null,
    e.lost > 0 ? `${count(e.lost)} records were written over before they were read` : null,
  ]
}

function wereIdle({ idleCores }: { idleCores: number }): string {
  return cores(idleCores) === '1' ? 'was idle' : 'were idle'
}

/** What the makers did while they were waited for. */
const division: Line = ({ e, a }) => {
  const { running, queued, blocked, noSlot } = a.parts
  const all = supplyOf(a.parts)
  if (all <= 0) return []
  const alone = e.facts.workers === 0
  const parts = [
    [running, 'ran'],
    [queued, 'waited for a core'],
    [blocked, alone ? 'was blocked' : 'were blocked'],
    [noSlot, 'had no slot to fill'],
  ] as const
  const said = parts
    .filter(([share]) => share >= 0.05 * all)
    .map(([share, did]) => `${did} ${percent(share / all)}`)
  const maker = alone ? 'the thread that makes batches' : 'workers'
  return [`while the trainer waited (${percent(all)} of a step), ${maker} ${said.join(', ')} of the time`]
}

const idle: Line = ({ e, a }) => [
  e.host === null ? null : `of ${someCores(e.host.allowed)}, ${cores(e.host.idleCores)} ${wereIdle(e.host)}`,
  e.facts.workers > 0 && a.makers.running > 0
    ? `workers ran ${percent(a.makers.running)} of the whole time`
    : null,
]

const stage: Line = ({ a }) => {
  const { stage, work } = a.makers
  const all = sum(Object.values(work), value => value)
  if (stage === null || !(all > 0)) return []
  return [
    `${STAGES[stage]} takes ${percent(work[stage] / all)} of a worker's time: ${ms(work[stage])} of ${ms(all)} a sample`,
  ]
}

const need: Line = c => {
  const can = capacity(c.f)
  const wants = demand(c)
  const asks = Number.isFinite(wants) ? `; the trainer takes up to ${rate(1000 * wants)}` : ''
  return [`by what they did, workers can make ${rate(1000 * can.rate)}${asks}`]
}

const busy: Line = c => {
  const { host } = c.e
  if (host === null) return []
  const missing = missingCores(c)
  return [
    `of ${someCores(host.allowed)} the engine used ${cores(host.engineCores)}, the trainer ${cores(host.trainerCores)}, other processes ${cores(host.otherCores)}; ${cores(host.idleCores)} ${wereIdle(host)}`,
    missing > 0.05 ? `workers lack ${someCores(missing)} to keep up` : null,
    host.throttled !== null && host.throttled >= 0.01
      ? `the control group's quota stopped them ${percent(host.throttled)} of the time`
      : null,
  ]
}

const doubled: Line = ({ e }) => {
  const gain = doubledGain(e)
  const { doubled } = e.probes
  if (gain === null || doubled === undefined) {
    const { workers, foreign } = e.facts
    if (workers === 0 || foreign !== undefined) return [] // it can't be tried
    return ['whether more reads at a time would help was not tried: millrace diagnose FEED does']
  }
  return [
    `twice the reads in flight (${doubled.doubledWorkers} workers in place of ${doubled.workers}) gained ${percent(gain)}`,
  ]
}

const storage: Line = ({ a, f, e }) => [
  a.io.bytes > 0 ? `${bytes(a.io.bytesPerSecond)}/s were read, ${bytes(f.bytes)} a sample` : null,
  e.probes.absent === undefined
    ? null
    : `${percent(e.probes.absent.share)} of the rows that were looked at are not in memory`,
]

const opening: Line = ({ a }) => {
  const { open, read } = a.makers.work
  return [
    open + read > 0
      ? `opening files takes ${percent(open / (open + read))} of the time of opening and reading`
      : null,
    a.io.meanRead === null ? null : `a read brings ${bytes(a.io.meanRead)}`,
  ]
}

const first: Line = ({ a }) => [
  `${percent(a.startUpShare)} of all waiting was at the first batch and at the beginning of epochs`,
  a.firstBatchMs === null ? null : `the first batch came after ${ms(a.firstBatchMs)}`,
  a.epochGapMs === null ? null : `the first batch of an epoch was waited for ${ms(a.epochGapMs)}`,
]

const slowed: Line = c => {
  const { e, a, f } = c
  const without =
    a.idealFrom === 'upper'
      ? []
      : [`the trainer's own work took ${beside(e, f.step.value)}, ${ms(a.idealMs)} without`]
  const said = delayed(c)
  if (said.length > 0) return [...without, ...said]
  if (e.host === null) return without
  return [
    ...without,
    `of ${someCores(e.host.allowed)} the engine used ${cores(e.host.engineCores)}, the trainer ${cores(e.host.trainerCores)}`,
  ]
}

/** The trainer's thread and cores. */
const delayed: Line = c => {
  const { host } = c.e
  if (trainerDelay(c) < 0.01 || host === null) return []
  return [
    `the trainer's thread wanted a core and had none ${percent(trainerDelay(c))} of the time`,
    `of ${someCores(host.allowed)} the engine used ${cores(host.engineCores)}, the trainer ${cores(host.trainerCores)}, other processes ${cores(host.otherCores)}`,
  ]
}

/** A step beside workers. Where few batches were at hand, few steps tell it: their number belongs to it. */
function beside({ probes: { atWork } }: Case['e'], stepMs: number): string {
  if (atWork === undefined) return `${ms(stepMs)} with workers at work`
  const steps = `${count(atWork.steps)} ${atWork.steps === 1 ? 'step' : 'steps'}`
  return `${ms(atWork.ms)} with workers at work (${steps} whose batch was at hand)`
}

const uneven: Line = ({ a }) => [
  `half the steps waited less than ${ms(a.wait.p50)}, one in a hundred more than ${ms(a.wait.p99)}`,
]

const slowest: Line = c => {
  const found = slowRank(c) ?? slowMaker(c)
  return [
    found === null
      ? null
      : `${found.what} makes ${percent(found.share)} of what the others make in the same time`,
  ]
}

const memory: Line = ({ e }) => [
  `tasks waited for memory ${percent(e.host?.psi.memory ?? 0)} of the time`,
  e.host?.refaultBytes
    ? `${bytes(e.host.refaultBytes / Math.max(e.host.seconds, 1e-3))}/s of files were read again that had been in memory before`
    : null,
  e.host?.memoryLimitBytes
    ? `the processes hold ${bytes(e.host.rssBytes)} of ${bytes(e.host.memoryLimitBytes)}`
    : null,
]

const pauses: Line = c => [`garbage collection covers ${percent(gcShare(c))} of it`]

const gpu: Line = ({ e }) => {
  const { smActive = null, hasWork = null } = e.host?.gpu ?? {}
  if (smActive === null) return []
  const work = hasWork === null ? '' : `, though it had work ${percent(hasWork)} of the time`
  return [`${percent(smActive)} of the GPU's multiprocessors were active${work}`]
}

const LINES: Record<VerdictName, Line> = {
  'compute-bound': c => gpu(c),
  'launch-bound': gpu,
  'crowding-trainer': slowed,
  slowed,
  'hand-over': ({ a }) => [
    `batches were complete, but taking them took ${percent(a.parts.handOver)} of a step (${ms(a.parts.handOver * a.stepMs)})`,
  ],
  'transfer-bound': ({ a }) => [
    `the trainer waited for the copy to the device ${percent(a.parts.transfer)} of a step (${ms(a.parts.transfer * a.stepMs)})`,
  ],
  'start-up': first,
  'storage-bandwidth': c => [...division(c), ...doubled(c), ...storage(c)],
  'cache-warm-up': c => [...division(c), ...doubled(c), ...storage(c)],
  'io-latency': c => [...division(c), ...doubled(c), ...storage(c)],
  'small-files': c => [...division(c), ...opening(c)],
  'your-function': c => [...division(c), ...stage(c)],
  'under-parallel': c => [...division(c), ...idle(c), ...stage(c), ...need(c)],
  'cpu-saturated': c => [...division(c), ...busy(c), ...stage(c)],
  'crowded-host': c => [...division(c), ...busy(c), ...delayed(c).slice(0, 1)],
  variance: c => [...division(c), ...need(c), ...uneven(c)],
  straggler: c => [...division(c), ...slowest(c)],
  'memory-pressure': c => [...division(c), ...memory(c)],
  'runtime-pause': c => [...division(c), ...pauses(c)],
  inconclusive: () => [],
  running: c => [...division(c), ...idle(c), ...stage(c), ...need(c)],
  queued: c => [...division(c), ...busy(c)],
  blocked: c => [...division(c), ...doubled(c), ...stage(c)],
  'no-slot': c => [...division(c), ...need(c)],
}
