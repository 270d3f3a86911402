/**
 * Three ways to feed a trainer, drawn from the model's own numbers: naive (make a batch, then train on it), prefetched (one
 * worker makes the next batch meanwhile), streamed (all workers make rows of the batches ahead).
 */
import type { Change } from '../../evidence.js'
import type { Fit } from '../../model/fit.js'
import { coresOf, depthOf, predict } from '../../model/predict.js'

/** What a lane does from one moment to another (ms). */
export interface Piece {
  lane: number
  kind: 'train' | 'wait' | 'make'
  from: number
  to: number
  batch: number
}

export interface Way {
  name: string
  what: string
  change: Change
  lost: number
  samplesPerSecond: number
  pieces: Piece[]
  lanes: number
}

/** Lanes of workers that are drawn at most: more are not told apart. */
const LANES = 8

export function waysOf(fit: Fit, streamed: Change): Way[] {
  const more = streamed.workers ?? Math.max(1, fit.makers)
  const all: [string, string, Change][] = [
    ['naive', 'if the trainer made each batch itself', { ...streamed, workers: 0, depth: 1 }],
    ['prefetched', 'if one worker made the next batch', { ...streamed, workers: 1, depth: 2 }],
    ...(Object.keys(streamed).length === 0 ? [] : [asNow(fit)]),
    [
      'streamed',
      `if ${more} ${more === 1 ? 'worker' : 'workers'} filled batches together`,
      { ...streamed, workers: more },
    ],
  ]
  return all.map(([name, what, change]) => {
    const { lost, samplesPerSecond } = predict(fit, change)
    return { name, what, change, lost, samplesPerSecond, ...piecesOf(fit, change) }
  })
}

/** To compare with, where sliders were moved. */
function asNow({ makers }: Fit): [string, string, Change] {
  return ['as now', `${makers} ${makers === 1 ? 'worker' : 'workers'}`, {}]
}

/** How long the picture is (ms): some steps of the naive way. */
export function spanOf(fit: Fit, change: Change): number {
  return 3.2 * predict(fit, { ...change, workers: 0, depth: 1 }).stepMs
}

/** A run as the model sees it, once it is under way: makers take claims in order, and fill slots that the trainer empties. */
function piecesOf(fit: Fit, change: Change): { pieces: Piece[]; lanes: number } {
  const workers = change.workers ?? fit.makers
  const makers = Math.max(1, workers)
  const depth = depthOf(fit, change)
  const claims = workers === 0 ? 1 : Math.max(1, Math.round(fit.claims))
  const slower = Math.max(
    1,
    (makers * shareOfCpu(fit, change)) / Math.max(coresOf(fit, change, makers), 0.05),
  )
  const each =
    (fit.cpu.value * (change.cpuPerSample ?? 1) * slower +
      fit.blocked.value * (change.blockedPerSample ?? 1)) *
    (fit.rows / claims)
  const train = Math.max((change.stepMs ?? fit.step.value) + fit.consumer.value, 1e-3)
  const until = spanOf(fit, change)
  const warm = depth + 2
  const free = new Array<number>(makers).fill(0)
  const ready: number[] = []
  const asked: number[] = [0]
  const pieces: Piece[] = []
  let begun = 0
  for (let batch = 0; batch < 5000; batch++) {
    // Its slot is free once the trainer asks for the batch that is `depth` before it.
    const slot = batch < depth ? 0 : asked[batch - depth + 1]
    let done = 0
    for (let claim = 0; claim < claims; claim++) {
      const maker = free.indexOf(Math.min(...free))
      const from = Math.max(free[maker], slot, workers === 0 ? asked[batch] : 0)
      free[maker] = from + each
      done = Math.max(done, free[maker])
      if (workers > 0 && maker < LANES)
        pieces.push({ lane: maker + 1, kind: 'make', from, to: free[maker], batch })
    }
    ready.push(done)
    const got = Math.max(asked[batch], done)
    if (got > asked[batch])
      pieces.push({ lane: 0, kind: workers === 0 ? 'make' : 'wait', from: asked[batch], to: got, batch })
    pieces.push({ lane: 0, kind: 'train', from: got, to: got + train, batch })
    asked.push(got + train)
    if (batch + 1 === warm) begun = asked[warm]
    if (batch >= warm && Math.min(got, ...free) > begun + until) break
  }
  const seen = pieces.filter(({ from, to }) => to > begun && from < begun + until)
  const shown = seen.map(piece => ({
    ...piece,
    from: Math.max(0, piece.from - begun),
    to: Math.min(until, piece.to - begun),
  }))
  return { pieces: shown, lanes: 1 + (workers === 0 ? 0 : Math.min(makers, LANES)) }
}

/** Of a maker's time with a sample, the share in which it wants a core. */
function shareOfCpu({ cpu, blocked }: Fit, { cpuPerSample = 1, blockedPerSample = 1 }: Change): number {
  const running = cpu.value * cpuPerSample
  return running / Math.max(running + blocked.value * blockedPerSample, 1e-9)
}
