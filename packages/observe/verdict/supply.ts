/** Why makers are waited for: the tests of the table in docs/measure.md, from top to bottom. */
import type { VerdictName } from '../evidence.js'
import { DOUBLED_GAIN, doubledGain, workOf } from '../model/fit.js'
import {
  alwaysRunning,
  ample,
  type Case,
  crowdsTrainer,
  gcShare,
  idleCores,
  inFunction,
  missingCores,
  slowMaker,
  slowRank,
  waitsAtStarts,
} from './case.js'
import * as limit from './thresholds.js'

/** Shares of what the makers did while they were waited for: they add up to 1. */
export interface Division {
  running: number
  queued: number
  blocked: number
  noSlot: number
}

/** `later`: the verdict of the waiting that is neither at the first batch nor where epochs begin. */
export function supplyVerdict(c: Case, d: Division, later = false): VerdictName {
  if (!later && waitsAtStarts(c)) return 'start-up'
  // These explain the shares below them: a slow rank, a collection of garbage, files that are opened one by one.
  if (slowRank(c) !== null) return 'straggler'
  if (gcShare(c) >= limit.MOST) return 'runtime-pause'
  const idle = idleCores(c)
  // Makers without a slot wait for those that have one: what these do counts.
  if (d.blocked >= limit.MOST * Math.max(limit.MOST, 1 - d.noSlot)) {
    // A function that computes in a process of its own: its maker waits, a core works.
    if (c.f.beside > 0 && c.f.beside >= c.f.blocked.value)
      return (idle ?? 0) >= limit.FREE_CORE ? 'under-parallel' : coresVerdict(c)
    return blockedVerdict(c)
  }
  const { open } = c.a.makers.work
  if (open > 0 && open >= limit.MOST * workOf(c.a.makers.work)) return 'small-files'
  if (alwaysRunning(c, d.running) && (idle ?? 0) >= limit.FREE_CORE) return 'under-parallel'
  const cpu = d.running + d.queued
  const queued = d.queued > 0 && d.queued >= limit.QUEUED * cpu && cpu >= limit.MOST * (1 - d.noSlot)
  if (queued && coresLack(c)) return coresVerdict(c)
  if (ample(c)) return 'variance'
  const also = specialVerdict(c)
  if (also !== null) return also
  // All cores busy and the trainer waiting: that is CPU, though makers as many as cores hardly queue.
  if (cpu >= limit.ALWAYS_RUNNING && idle !== null && idle < limit.FREE_CORE) {
    const verdict = coresVerdict(c)
    // Makers that hardly queue have the cores that they can use: others would be in the way of more of them only.
    const fewer = c.f.makers < c.e.facts.cores && !queued
    return verdict === 'crowded-host' && fewer ? largest(d) : verdict
  }
  return largest(d)
}

/** Makers wait for something outside of the machine's cores. */
function blockedVerdict(c: Case): VerdictName {
  const { e, a } = c
  const { blocked } = inFunction(c)
  if (blocked > 0 && blocked >= limit.MOST * c.f.blocked.value) return 'your-function'
  const { memory = null, io = null } = e.host?.psi ?? {}
  // Memory that is taken back and read again looks like a slow storage.
  if (memoryShort(c) && (memory ?? 0) >= limit.MOST * (io ?? 0)) return 'memory-pressure'
  const { open, read } = a.makers.work
  if (open > 0 && open >= limit.MOST * (open + read)) return 'small-files'
  const gain = doubledGain(e)
  if (gain === null) return 'blocked'
  // Where the trainer soon is the limit, even the best storage gains less than a tenth.
  const room = a.idealMs > 0 ? a.stepMs / a.idealMs - 1 : Infinity
  if (gain >= Math.min(DOUBLED_GAIN, room * limit.MOST)) return 'io-latency'
  return unreadFits(c) ? 'cache-warm-up' : 'storage-bandwidth'
}

/** Tasks waited for memory, and it is ours that is short: the figure may be that of the whole machine. */
function memoryShort({ e: { host } }: Case): boolean {
  if (host === null || (host.psi.memory ?? 0) < limit.MEMORY_PSI) return false
  const again = host.refaultBytes == null ? Infinity : host.refaultBytes / Math.max(host.seconds, 1e-3)
  const full = host.memoryLimitBytes !== null && host.rssBytes >= limit.MEMORY_FULL * host.memoryLimitBytes
  return full || again >= limit.READ_AGAIN
}

/** Rows that were not read yet, of data that the page cache can hold. */
function unreadFits({ e: { facts, probes } }: Case): boolean {
  const { absent } = probes
  if (absent === undefined || absent.share < limit.UNREAD) return false
  const { sourceBytes, freeBytes } = facts
  return sourceBytes !== undefined && freeBytes !== undefined && sourceBytes * absent.share <= freeBytes
}

/** Makers that wake up together wait for each other a little, though cores enough are there: that is no lack of them. */
function coresLack(c: Case): boolean {
  const { host } = c.e
  if (host === null) return true
  if (missingCores(c) > 0 || host.otherCores >= limit.FREE_CORE || host.idleCores < limit.FREE_CORE)
    return true
  return (host.throttled ?? 0) >= limit.THROTTLED
}

/** Makers wait for cores: are there too few, or do others use them? */
function coresVerdict(c: Case): VerdictName {
  if (crowdsTrainer(c)) return 'crowding-trainer'
  const others = c.e.host?.otherCores ?? 0
  const throttled = (c.e.host?.throttled ?? 0) >= limit.THROTTLED
  return throttled || others < Math.max(missingCores(c), limit.FREE_CORE) ? 'cpu-saturated' : 'crowded-host'
}

/** Tests that no share of the makers' time decides. */
export function specialVerdict(c: Case): VerdictName | null {
  if (slowMaker(c) !== null) return 'straggler'
  return memoryShort(c) ? 'memory-pressure' : null
}

function largest({ running, queued, blocked, noSlot }: Division): VerdictName {
  const most = Math.max(running, queued, blocked, noSlot)
  if (running === most) return 'running'
  if (queued === most) return 'queued'
  return blocked === most ? 'blocked' : 'no-slot'
}
