/** What the machine did between two looks. Pure: looks are plain data. */
import type { HostSignals } from '../evidence.js'
import type { GpuLook, HostLook, Measured } from './look.js'
import type { Throttling } from './parse.js'

export function between(a: HostLook, b: HostLook): HostSignals {
  const ms = Math.max(b.at - a.at, 0)
  const coreBusy = busyOf(a, b)
  const mask = coreBusy.length
  const allowed = Math.min(mask, b.quota ?? Infinity)
  const engineCores = per(a.engineMs, b.engineMs, ms)
  // On cores of its own the trainer takes none from the engine.
  const trainerCores = b.together ? per(a.trainerMs, b.trainerMs, ms) : 0
  const ours = engineCores + trainerCores
  const busy = coreBusy.reduce((sum, share) => sum + share, 0)
  // With a quota, others use the cores first that it keeps from us; those in our control group use the quota itself.
  const outside = busy - ours - (mask - allowed)
  const within = a.groupMs === null || b.groupMs === null ? 0 : per(a.groupMs, b.groupMs, ms) - ours
  const otherCores = Math.min(Math.max(outside, within, 0), allowed)
  return {
    seconds: ms / 1000,
    allowed,
    coreBusy,
    idleCores: Math.max(0, Math.min(mask - busy, allowed - ours - otherCores)),
    engineCores,
    trainerCores,
    otherCores,
    trainerDelay: share(a.trainerDelayMs, b.trainerDelayMs, ms),
    psi: {
      cpu: share(a.psi.cpu, b.psi.cpu, ms),
      io: share(a.psi.io, b.psi.io, ms),
      memory: share(a.psi.memory, b.psi.memory, ms),
    },
    throttled: throttled(a.throttling, b.throttling, ms),
    rssBytes: b.rssBytes,
    pageCacheBytes: b.pageCacheBytes,
    memoryLimitBytes: b.memoryLimitBytes,
    refaultBytes: difference(a.refaultBytes, b.refaultBytes),
    diskBytes: difference(a.diskBytes, b.diskBytes),
    readBytes: difference(a.readBytes, b.readBytes),
    ...(b.gpu && { gpu: gpuOf(a.gpu, b.gpu) }),
  }
}

/** How busy each core was: shares of its own ticks, since a core's clock may stand a few ticks off. */
function busyOf(a: HostLook, b: HostLook): number[] {
  const before = new Map(a.cores.map(core => [core.core, core]))
  return b.cores.map(({ core, busy, idle }) => {
    const first = before.get(core)
    if (first === undefined) return 0 // it was switched on meanwhile
    const [worked, rested] = [Math.max(0, busy - first.busy), Math.max(0, idle - first.idle)]
    return worked + rested === 0 ? 0 : worked / (worked + rested)
  })
}

/** Cores: ms of CPU time in a ms. */
function per(before: number, after: number, ms: number): number {
  return ms > 0 ? Math.max(0, after - before) / ms : 0
}

function share(before: number | null, after: number | null, ms: number): number | null {
  return before === null || after === null ? null : Math.min(1, per(before, after, ms))
}

function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : Math.max(0, after - before)
}

/**
 * Share of the time, of the group that was throttled most. The kernel adds times of all cores up, so its sum may be longer
 * than the window; the share of periods in which the quota ran out is a bound as well. The lesser of the two is taken.
 */
function throttled(
  before: readonly Throttling[] | null,
  after: readonly Throttling[] | null,
  ms: number,
): number | null {
  if (before === null || after === null || ms <= 0) return null
  const shares = after.map((now, i) => {
    const first = before[i] ?? now
    const periods = now.periods - first.periods
    if (periods <= 0) return 0
    return Math.min(1, (now.throttled - first.throttled) / periods, (now.ms - first.ms) / ms)
  })
  return Math.max(0, ...shares)
}

function gpuOf(a: GpuLook | undefined, b: GpuLook): NonNullable<HostSignals['gpu']> {
  return {
    name: b.name,
    hasWork: active(a?.hasWork, b.hasWork),
    smActive: active(a?.smActive, b.smActive),
    memoryBytes: b.memoryBytes,
    watts: b.watts,
  }
}

/** Null where the two looks were too close for a figure. */
function active(before: Measured | null | undefined, after: Measured | null): number | null {
  if (after === null) return null
  const seconds = after.seconds - (before?.seconds ?? 0)
  return seconds > 0 ? Math.min(1, Math.max(0, (after.active - (before?.active ?? 0)) / seconds)) : null
}
