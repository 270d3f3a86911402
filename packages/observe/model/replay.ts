/**
 * What a change would bring, by making the recorded claims once more: M makers take them in order, share P cores, and fill K
 * slots that a trainer empties. It sees what means hide: slow samples, uneven claims, queues that fill and run dry.
 */
import { account } from '../account/account.js'
import type { Accounting, Change, Evidence, Prediction } from '../evidence.js'
import { sum } from './estimate.js'
import { type Fit, fitModel, workOf } from './fit.js'
import { capacity, coresOf, depthOf, predicted } from './predict.js'

/** Claims that are replayed at most: enough for rare slow ones, few enough for some ms. */
const CLAIMS = 4000
/** How far a replay is off, as a standard error of ln(rate): a little always, and a share of the change. */
const ERROR = { least: 0.02, share: 0.1 }

/** What a claim needs (ms). */
export interface Claim {
  cpu: number
  blocked: number
}

export function replay(e: Evidence, change: Change, a: Accounting = account(e)): Prediction {
  const f = fitModel(e, a)
  const claims = recordedClaims(e, f)
  const steps = e.steps.filter(step => !step.first && step.count > 0).map(step => step.compute / step.count)
  const before = runThrough(claims, steps, f, {})
  const after = runThrough(claims, steps, f, change)
  const now = Math.max(f.measured.value, 1e-6)
  const ms = Math.max((now * after) / Math.max(before, 1e-6), 1e-6)
  const sigma = ERROR.least + ERROR.share * Math.abs(Math.log(now / ms)) + f.measured.sigma / now
  const trainer = (change.stepMs ?? f.step.value) + f.consumer.value
  const bound = after <= 1.02 * trainer ? 'trainer' : capacity(f, change).bound
  return predicted(f, change, { ms, sigma, bound })
}

/** The claims of the window: single ones where they were recorded, otherwise those of each slice, alike. */
function recordedClaims(e: Evidence, f: Fit): Claim[] {
  const rows = f.rows / f.claims
  const need = f.cpu.value + f.blocked.value
  const share = need > 0 ? f.cpu.value / need : 1
  const single = (e.claims ?? []).filter(claim => claim.ms > 0)
  if (single.length >= f.claims) {
    // Their time has waiting for cores in it; all together they need what a sample needs.
    const all = sum(single, claim => claim.ms)
    const scale = (need * rows * single.length) / all
    return single
      .slice(-CLAIMS)
      .map(({ ms }) => ({ cpu: ms * scale * share, blocked: ms * scale * (1 - share) }))
  }
  const slices = e.makers
    .filter(slice => slice.rows > 0 && workOf(slice.work) > 0)
    .sort((x, y) => x.from - y.from)
  const claims: Claim[] = []
  let due = 0
  for (const slice of slices) {
    due += slice.rows / rows
    const work = workOf(slice.work)
    const own = f.timed && f.beside === 0 && slice.cpu !== null
    const cpu = own ? slice.cpu! : work * share
    const blocked = own ? Math.max(0, work - cpu - (slice.delay ?? 0)) : work - cpu
    for (; due >= 1 && claims.length < CLAIMS; due--)
      claims.push({ cpu: (cpu / slice.rows) * rows, blocked: (blocked / slice.rows) * rows })
  }
  return claims.length > 0 ? claims : [{ cpu: f.cpu.value * rows, blocked: f.blocked.value * rows }]
}

/** The mean step (ms) of a run with these claims, after its first batches. */
function runThrough(claims: Claim[], steps: number[], f: Fit, change: Change): number {
  const workers = change.workers ?? f.makers
  const depth = depthOf(f, change)
  const makers = Math.max(1, workers)
  const cpuFactor = change.cpuPerSample ?? 1
  const blockedFactor = change.blockedPerSample ?? 1
  const inUse = f.trainerCpu / Math.max(f.measured.value, 1e-6)
  const cores = coresOf(f, change, makers) + inUse
  const busy = f.step.value + f.consumer.value
  const reserved = busy > 0 ? Math.min(cores * 0.9, f.trainerCpu / busy) : 0
  const stepFactor = change.stepMs === undefined || f.step.value <= 0 ? 1 : change.stepMs / f.step.value
  const stepOf = (n: number) =>
    (steps.length === 0 ? f.step.value : steps[n % steps.length]) * stepFactor + f.consumer.value
  const skipped = depth + 2
  const last = skipped + Math.max(20, Math.min(1000, Math.ceil(Math.max(claims.length, 400) / f.claims)))

  const cpu = new Float64Array(makers)
  const blocked = new Float64Array(makers)
  /** The batch that a maker is at, or −1. */
  const at = new Int32Array(makers).fill(-1)
  const open = new Int32Array(last + depth + 1).fill(f.claims)
  let now = 0
  let begun = 0
  let next = 0
  /** The batch that the trainer wants or has, and when it is done with it; NaN: it waits. */
  let batch = 0
  let done = Number.NaN
  while (batch < last) {
    let running = 0
    let soonest = Number.isNaN(done) ? Infinity : done - now
    for (let m = 0; m < makers; m++) {
      // A slot is free once the trainer asks for the batch after the one in it.
      if (at[m] < 0 && Math.floor(next / f.claims) < batch + depth) {
        const claim = claims[next % claims.length]
        at[m] = Math.floor(next++ / f.claims)
        cpu[m] = Math.max(claim.cpu * cpuFactor, 1e-6)
        blocked[m] = claim.blocked * blockedFactor
      }
      if (at[m] < 0) continue
      if (blocked[m] > 0) soonest = Math.min(soonest, blocked[m])
      else running++
    }
    const left = Math.max(0.02, cores - (Number.isNaN(done) ? 0 : reserved))
    const speed = running === 0 ? 1 : Math.min(1, left / running)
    for (let m = 0; m < makers; m++)
      if (at[m] >= 0 && blocked[m] <= 0) soonest = Math.min(soonest, cpu[m] / speed)
    now += soonest
    for (let m = 0; m < makers; m++) {
      if (at[m] < 0) continue
      if (blocked[m] > 0) blocked[m] = blocked[m] - soonest > 1e-9 ? blocked[m] - soonest : 0
      else if ((cpu[m] -= soonest * speed) <= 1e-9) {
        open[at[m]]--
        at[m] = -1
      }
    }
    if (done - now <= 1e-9) {
      batch++
      done = Number.NaN
      if (batch === skipped) begun = now
    }
    if (Number.isNaN(done) && batch < last && open[batch] === 0) done = now + Math.max(stepOf(batch), 1e-6)
  }
  const ms = (now - begun) / (last - skipped)
  const bytes = f.bytes * (change.bytesPerSample ?? 1)
  const limit = f.bytesPerMs === null ? 0 : (f.rows * bytes) / (f.bytesPerMs * (change.bytesPerSecond ?? 1))
  return Math.max(ms, limit)
}
