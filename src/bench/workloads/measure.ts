/**
 * One run of a workload: N accelerators are N ranks of one job, with a ring each of one engine in this process, as several
 * feeds of one program have it. Ranks don't wait for each other at every step: that says nothing about the feed. The process is that of
 * this run alone (measure-process.ts), so that memory is, too.
 */

import { resolve } from 'node:path'
import { SampleError, SourceError } from '../../basics/errors.js'
import type { Batch } from '../../deliver/node/batch.js'
import type { Loader } from '../../deliver/node/loader.js'
import { open } from '../../deliver/node/open.js'
import type { OpenOptions } from '../../deliver/options.js'
import { account } from '../../observe/account/account.js'
import type { Accounting, Diagnosis } from '../../observe/evidence.js'
import { HostSampler } from '../../observe/host/sampler.js'
import { conclude } from '../../observe/verdict/judge.js'
import { sentence } from '../../observe/verdict/words.js'
import { absentShare } from '../../system/files/absent.js'
import { usableCores } from '../../system/process/limits.js'
import { memoryOfProcess } from '../measure/memory.js'
import { shellWord } from '../shell-word.js'
import { type Accelerator, accelerators, sleptMs } from './accelerator.js'
import { type RankStep, type Utilisation, utilisation } from './au.js'
import type { WorkloadData } from './data.js'
import { feedOf, fieldOf } from './feeds.js'
import type { Scaled } from './table.js'

/** Files that are asked how much of them is in the page cache. */
const ASKED = 256

export interface MeasureOptions {
  accelerators: number
  /** Steps of each accelerator. */
  steps: number
  workers: number | 'auto'
  depth?: number
  /** Keep the times of every step. */
  keepSteps?: boolean
  onProgress?: (done: number, total: number, what: string, unit: string) => void
  onNotice?: (text: string) => void
}

export interface Measurement {
  accelerators: number
  /** Steps of each accelerator, and of an epoch of it. */
  steps: number
  stepsPerEpoch: number
  au: Utilisation
  /** By DLIO's code, which is what its thresholds are for. */
  sustained: boolean
  /** Of all accelerators together, without the first step. */
  samplesPerSecond: number
  bytesPerSecond: number
  /** What they would take if they never waited. */
  demand: { samplesPerSecond: number; bytesPerSecond: number }
  fraction: number
  /** A step as it was given and as it was slept with nothing else at work (ms). */
  computeMs: number
  sleptMs: number
  /** The rank that waits most: where its time went, and why. */
  account: Accounting
  diagnosis: Diagnosis
  why: string
  firstBatchMs: number
  cpuSeconds: number
  cores: number
  cpuSecondsPer1000: number
  peakMemoryBytes: number
  /** Cores that other programs used meanwhile. */
  otherCores: number | null
  /** Share of the data in the page cache, before and after. Null: the system does not say. */
  cached: { before: number | null; after: number | null }
  workers: number
  depth: number
  slotBytes: number
  /** Of each rank, where they were asked for. */
  times?: RankStep[][]
}

/** Steps that an accelerator has in an epoch. */
export function stepsPerEpoch({ workload }: Scaled, { records }: WorkloadData, ranks: number): number {
  return Math.floor(records / (workload.batch * ranks))
}

export async function measure(of: Scaled, data: WorkloadData, options: MeasureOptions): Promise<Measurement> {
  const { accelerators: count, workers, depth, steps, onNotice } = options
  const before = cachedShare(data)
  const slept = sleptMs(of.computeMs)
  const feed = feedOf(of, data)
  const opening: OpenOptions = {
    // The accelerators sleep: no core is left to them, and nothing is tried while it is measured.
    ...{ workers: workers === 'auto' ? usableCores() : workers, tune: 'off' },
    ...{ world: count, steps, ...(depth !== undefined && { depth }) },
    notice: onNotice ?? (() => {}),
    progress: (done, total, what, unit) =>
      options.onProgress?.(done, total ?? 0, what ?? 'opening', unit ?? 'files'),
  }
  const devices = accelerators(count, of.computeMs)
  const loaders: Loader[] = []
  try {
    for (let rank = 0; rank < count; rank++)
      loaders.push(open(feed, { ...opening, rank }) as unknown as Loader)
    await Promise.all(loaders.map(loader => loader.ready))
    const host = new HostSampler({ gpu: false })
    const looked = host.look()
    const cpu = process.cpuUsage()
    const told = told10(options, steps)
    const ranks = await Promise.all(
      loaders.map((loader, rank) =>
        trainOn(loader, devices[rank], fieldOf(of), rank === 0 ? told : undefined),
      ),
    )
    const { user, system } = process.cpuUsage(cpu)
    const signals = host.between(looked, host.look())
    host.close()
    const au = utilisation(ranks, of.computeMs)
    const worst = loaders[slowest(ranks, of.computeMs)]
    const evidence = worst.evidence()
    evidence.host = signals
    evidence.probes.ideal = { ms: slept, from: 'given', steps }
    const accounting = account(evidence)
    const diagnosis = conclude(evidence, accounting)
    const stats = loaders.map(loader => loader.stats())
    const rate = ranks.reduce((sum, steps) => sum + stepsPerSecond(steps) * of.workload.batch, 0)
    const wanted = (count * of.workload.batch * 1000) / of.computeMs
    const recordBytes = data.bytes / data.records
    const cpuSeconds = (user + system) / 1e6
    const samples = count * steps * of.workload.batch
    return {
      ...{ accelerators: count, steps, stepsPerEpoch: stepsPerEpoch(of, data, count), au },
      sustained: au.dlio >= of.workload.leastAu,
      samplesPerSecond: rate,
      bytesPerSecond: rate * recordBytes,
      demand: { samplesPerSecond: wanted, bytesPerSecond: wanted * recordBytes },
      fraction: rate / wanted,
      ...{ computeMs: of.computeMs, sleptMs: slept },
      ...{ account: accounting, diagnosis, why: sentence(diagnosis) },
      firstBatchMs: Math.max(...stats.map(({ firstBatchMs }) => firstBatchMs)),
      cpuSeconds,
      cores: cpuSeconds / signals.seconds,
      cpuSecondsPer1000: (1000 * cpuSeconds) / samples,
      peakMemoryBytes: memoryOfProcess().peakBytes,
      otherCores: signals.otherCores,
      cached: { before, after: cachedShare(data) },
      ...{ workers: stats[0].workers, depth: stats[0].depth, slotBytes: stats[0].slotBytes },
      ...(options.keepSteps && { times: ranks }),
    }
  } catch (error) {
    throw damaged(error, data)
  } finally {
    await Promise.all([...loaders.map(loader => loader.close()), ...devices.map(device => device.close())])
  }
}

/** A file that bench wrote and that can't be read any more: bench can write it again. */
function damaged(error: unknown, { paths }: WorkloadData): unknown {
  const file =
    error instanceof SampleError ? error.where.file : error instanceof SourceError ? error.file : undefined
  if (file === undefined || !paths.some(path => resolve(path) === resolve(file))) return error
  const { message } = error as Error
  return new SourceError(
    `${message}\nbench wrote this file: delete it, and the next run writes it again: rm ${shellWord(file)}`,
    {
      ...{ file, cause: error },
    },
  )
}

/** Takes all batches of a loop; the arrays of each are asked for, as a trainer would. */
async function trainOn(
  loader: Loader,
  accelerator: Accelerator,
  field: string,
  told?: (steps: number) => void,
): Promise<RankStep[]> {
  const steps: RankStep[] = []
  let asked = performance.now()
  for await (const batch of loader as Loader<Batch>) {
    batch.get(field)
    const got = performance.now()
    const computing = accelerator.compute()
    const compute = typeof computing === 'number' ? computing : await computing
    const done = performance.now()
    steps.push({ epoch: batch.epoch, asked, got, done, compute })
    told?.(steps.length)
    asked = done
  }
  return steps
}

/** Tells of progress ten times a second at most: short steps are not to be longer by it. */
function told10({ onProgress, accelerators: count }: MeasureOptions, total: number): (steps: number) => void {
  let last = 0
  const what = `training on ${count} simulated ${count === 1 ? 'accelerator' : 'accelerators'}`
  return steps => {
    const now = performance.now()
    if (now - last < 100 && steps < total) return
    last = now
    onProgress?.(steps, total, what, 'steps')
  }
}

function slowest(ranks: readonly RankStep[][], computeMs: number): number {
  const each = ranks.map(steps => utilisation([steps], computeMs).dlio)
  return each.indexOf(Math.min(...each))
}

function stepsPerSecond(steps: readonly RankStep[]): number {
  const seconds = (steps[steps.length - 1].done - steps[0].done) / 1000
  return (steps.length - 1) / seconds
}

/** Share of the files' bytes that is in the page cache. */
function cachedShare({ paths }: WorkloadData): number | null {
  const step = Math.max(1, Math.floor(paths.length / ASKED))
  const asked = paths.filter((_, i) => i % step === 0)
  const found = absentShare(asked.map(path => ({ path, offset: 0, bytes: Number.MAX_SAFE_INTEGER })))
  return found === null ? null : 1 - found.share
}
