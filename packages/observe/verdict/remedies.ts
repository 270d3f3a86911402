/** What to do about each verdict: exact options and commands, and what they would gain. Advice that loses is not given. */
import type { Change, Remedy, VerdictName } from '../evidence.js'
import { doubledGain } from '../model/fit.js'
import { capacity, predict } from '../model/predict.js'
import type { Case } from './case.js'
import { inFunction, inOpening, slowMaker, slowRank } from './case.js'
import { aheadOfTrainer, fewerWorkers, moreDepth, moreWorkers } from './changes.js'
import { LEAST_GAIN, MOST } from './thresholds.js'
import { someCores, surelyGains } from './units.js'

export function remediesFor(c: Case, verdicts: VerdictName[]): Remedy[] {
  const all = verdicts.flatMap(verdict => REMEDIES[verdict](c))
  const some = all.filter(({ predictedGain }) => predictedGain === null || predictedGain >= LEAST_GAIN)
  const apart = some.filter((one, i) => some.findIndex(({ action }) => action === one.action) === i)
  return apart.sort(bestFirst)
}

/** Certain gains first, then those that are not certain, then those that are not known; the largest before the others. */
export function bestFirst(x: Remedy, y: Remedy): number {
  const rank = ({ predictedGain, interval }: Remedy) =>
    predictedGain === null ? 0 : surelyGains(interval) ? 2 : 1
  return rank(y) - rank(x) || (y.predictedGain ?? 0) - (x.predictedGain ?? 0)
}

/** An action whose gain the model knows. */
function predicted(c: Case, action: string, change: Change, more: Partial<Remedy> = {}): Remedy {
  const { gain, interval } = predict(c.f, change)
  return { action, predictedGain: gain, interval, ...more }
}

/** An action whose gain is not known before it is tried. */
function untold(action: string, more: Partial<Remedy> = {}): Remedy {
  return { action, predictedGain: null, interval: null, ...more }
}

/** An action that takes a part of the step away; the makers may be the next limit. */
function without(c: Case, part: 'handOver' | 'transfer', action: string): Remedy {
  const { f } = c
  const now = f.measured.value
  const ms = c.a.parts[part] * c.a.stepMs
  // Where the trainer is the limit, its step gets that much shorter, until makers are the limit.
  const left = Math.max(now - ms, f.rows / capacity(f).rate)
  if (predict(f, {}).bound === 'trainer' && left < now) {
    const gain = now / left - 1
    return { action, predictedGain: gain, interval: [-LEAST_GAIN, (1 + gain) * (1 + LEAST_GAIN) - 1] }
  }
  const consumer = { ...f.consumer, value: Math.max(0, f.consumer.value - ms) }
  const after = predict({ ...f, consumer }, {})
  return { action, predictedGain: after.gain, interval: [Math.min(0, after.interval[0]), after.interval[1]] }
}

const decoding = (c: Case): Remedy[] => {
  const { e, a } = c
  if (a.makers.stage !== 'decode' || e.facts.foreign !== undefined) return []
  const small = untold('Pack smaller pictures: decode fewer pixels than are thrown away again')
  if (e.facts.device === undefined) return [small]
  if (e.facts.device.decode !== 'cpu') return [small]
  const gpu = untold('Decode on the GPU: decode="gpu" beside the device', {
    command: 'decode="gpu"',
    warning: 'It takes time of the GPU, which is measured, not predicted',
  })
  return [gpu, small]
}

const ownFunction = (c: Case): Remedy[] => {
  const { cpu, blocked } = inFunction(c)
  if (c.a.makers.stage !== 'map' && blocked < MOST * c.f.blocked.value) return []
  return [
    predicted(
      c,
      'Make your function twice as fast, or apply it once and store what it makes',
      less(c, { cpu: cpu / 2, blocked: blocked / 2 }),
    ),
  ]
}

/** The change by which a sample takes so much less (ms). */
function less({ f }: Case, by: { cpu: number; blocked: number }): Change {
  const left = (value: number, off: number) => (value > 0 ? Math.max(0, 1 - off / value) : 1)
  return { cpuPerSample: left(f.cpu.value, by.cpu), blockedPerSample: left(f.blocked.value, by.blocked) }
}

const moreCores = (c: Case): Remedy =>
  predicted(
    c,
    'One core more: a larger machine or quota (taskset, cpus= of the container, --cpus-per-task)',
    {
      cores: c.f.cores.value + 1,
      workers: Math.max(c.f.makers, Math.ceil(c.f.cores.value + 1)),
    },
  )

const others = (c: Case): Remedy[] => {
  const used = c.e.host?.otherCores ?? 0
  if (used < 0.05) return []
  const action = `Stop the other processes, which use ${someCores(used)} here, or keep them off: taskset -cp CORES PID, renice -n 19 -p PID (millrace doctor names them)`
  return [predicted(c, action, { cores: c.f.cores.value + used }, { command: 'taskset -cp CORES PID' })]
}

const cached = (c: Case): Remedy[] => {
  const { cached: found } = c.e.probes
  const rate = found?.samplesPerSecond ?? 0
  if (rate <= 0) return []
  // Makers as fast as with all bytes in memory: nothing is blocked any more.
  const now = c.f.rows / Math.max(c.f.measured.value, 1e-6)
  const factor = rate / 1000 > now ? 0 : 1
  return [
    predicted(c, 'Read the data once before training, or wait for the second epoch: cat FILES > /dev/null', {
      blockedPerSample: factor,
      ...(factor === 0 && { bytesPerSecond: 1000 }),
    }),
  ]
}

/** What is seen to be so already is not advised. */
const begins = ({ a, e: { facts } }: Case): Remedy[] => {
  const epochsSeen = a.epochGapMs !== null
  if (facts.foreign !== undefined) {
    if (!epochsSeen || facts.persistent === true) return []
    const command = 'persistent_workers=True'
    return [untold(`Keep workers from epoch to epoch: ${command}`, { command })]
  }
  const once = 'Open the feed once for all epochs, if it is opened for each: the next one is then made ahead'
  const index = 'Index the data before the run, where this one had to: millrace index PATH'
  return [
    ...(epochsSeen ? [] : [untold(once)]),
    ...(facts.start?.indexes ? [untold(index, { command: 'millrace index PATH' })] : []),
  ]
}

const cpu = (c: Case) => [...moreWorkers(c), ...aheadOfTrainer(c), ...ownFunction(c), ...decoding(c)]
const NONE = () => []

const REMEDIES: Record<VerdictName, (c: Case) => Remedy[]> = {
  'compute-bound': NONE,
  'launch-bound': c => [largerBatch(c), untold('Launch fewer kernels: torch.compile, CUDA graphs')],
  'crowding-trainer': c => [
    ...fewerWorkers(c),
    untold('Give the trainer cores of its own: taskset -c CORES for the engine and for the trainer', {
      command: 'taskset -c CORES',
    }),
  ],
  slowed: c => [...fewerWorkers(c), ...others(c).map(({ action, command }) => untold(action, { command }))],
  'hand-over': c => [
    without(
      c,
      'handOver',
      c.e.facts.foreign === undefined
        ? 'Take batches as they lie in memory (no copy, no conversion), and on the device: device="cuda"'
        : 'Have workers collate what the loop needs, and as few tensors as will do',
    ),
  ],
  'transfer-bound': c => [
    without(
      c,
      'transfer',
      c.e.facts.foreign === undefined
        ? 'Let Millrace copy ahead (device="cuda") and send uint8, normalised on the GPU'
        : 'Copy from pinned memory beside the step (pin_memory=True, non_blocking=True) and send uint8, normalised on the GPU',
    ),
  ],
  'start-up': begins,
  'storage-bandwidth': c => [
    predicted(
      c,
      'Storage that is twice as fast (millrace probe PATH measures it)',
      { bytesPerSecond: 2, blockedPerSample: 0.5 },
      {
        command: 'millrace probe PATH',
      },
    ),
    predicted(c, 'Half the bytes a sample: smaller pictures, compression, fewer columns', {
      bytesPerSample: 0.5,
      blockedPerSample: 0.5,
    }),
  ],
  'cache-warm-up': cached,
  'io-latency': c => moreReads(c),
  'small-files': c => [
    predicted(c, 'Pack the files into shards: millrace pack FOLDER --out SHARDS', less(c, inOpening(c)), {
      ...(c.e.facts.foreign === undefined && { command: 'millrace pack FOLDER --out SHARDS' }),
    }),
    ...moreWorkers(c),
  ],
  'your-function': c => [...ownFunction(c), ...moreWorkers(c)],
  'under-parallel': cpu,
  'cpu-saturated': c => [moreCores(c), ...aheadOfTrainer(c), ...ownFunction(c), ...decoding(c)],
  'crowded-host': c => [...others(c), ...moreWorkers(c), ...aheadOfTrainer(c), ...ownFunction(c)],
  variance: c => [...moreDepth(c), ...moreWorkers(c)],
  straggler: c => [
    untold(
      `Look at ${(slowRank(c) ?? slowMaker(c))?.what ?? 'the slow one'}: its cores, its storage and its share of the data differ from the others'`,
    ),
  ],
  'memory-pressure': c => [
    c.e.facts.foreign === undefined
      ? untold('Take less memory: a smaller --depth or --cache, fewer workers, or a higher limit', {
          ...(c.e.facts.depth > 2 && { command: `--depth ${Math.max(2, c.e.facts.depth >> 1)}` }),
        })
      : untold('Take less memory: a smaller prefetch_factor, fewer workers, or a higher limit'),
  ],
  'runtime-pause': () => [
    untold('Make less garbage: fill arrays that exist instead of new ones each step, and free what is held'),
  ],
  inconclusive: NONE,
  running: cpu,
  queued: c => [...others(c), ...aheadOfTrainer(c), ...ownFunction(c), ...decoding(c)],
  blocked: c => [...moreReads(c), ...ownFunction(c)],
  'no-slot': c => [...moreDepth(c), ...moreWorkers(c)],
}

/** More reads in flight. Twice as many were tried: what that gained is better than any prediction. */
function moreReads(c: Case): Remedy[] {
  const { doubled } = c.e.probes
  const gain = doubledGain(c.e)
  const found = moreWorkers(c)
  if (doubled === undefined || gain === null || c.f.bytesPerMs !== null) return found
  return found.map(remedy =>
    remedy.set?.workers === doubled.doubledWorkers
      ? { ...remedy, predictedGain: gain, interval: [gain - 0.1, gain + 0.1] as [number, number] }
      : remedy,
  )
}

/** Steps of two batch sizes tell what a larger batch gains; without them nothing is said. */
function largerBatch(c: Case): Remedy {
  const { otherBatch } = c.e.probes
  const action = 'A larger batch'
  const warning = 'It changes how the model learns: the learning rate goes with it'
  if (otherBatch === undefined || otherBatch.rows <= c.f.rows || otherBatch.stepMs <= 0)
    return untold(action, { warning })
  const gain = otherBatch.rows / otherBatch.stepMs / (c.f.rows / Math.max(c.f.measured.value, 1e-6)) - 1
  return {
    action: `A batch of ${otherBatch.rows}`,
    predictedGain: gain,
    interval: [gain - 0.05, gain + 0.05],
    warning,
  }
}
