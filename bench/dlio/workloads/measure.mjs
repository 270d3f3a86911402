/**
 * One run of a workload: N accelerators are N ranks of one job, with a ring each of one engine in this process, as several
 * feeds of one program have it. Ranks don't wait for each other at every step: that says nothing about the feed. The process is that of
 * this run alone (measure-process.ts), so that memory is, too.
 */
import { resolve } from 'node:path'
import { SampleError, SourceError } from '../../../build/core/basics/errors.js'
import { open } from '../../../build/core/deliver/node/open.js'
import { absentShare } from '../../../build/core/system/files/absent.js'
import { usableCores } from '../../../build/core/system/process/limits.js'
import { account } from '../../../build/observe/account/account.js'
import { HostSampler } from '../../../build/observe/host/sampler.js'
import { conclude } from '../../../build/observe/verdict/judge.js'
import { sentence } from '../../../build/observe/verdict/words.js'
import { memoryOfProcess } from '../../../build/tools/bench/measure/memory.js'
import { shellWord } from '../../../build/tools/bench/result/choose.js'
import { accelerators, sleptMs } from './accelerator.mjs'
import { utilisation } from './au.mjs'
import { feedOf, fieldOf } from './feeds.mjs'

/** Files that are asked how much of them is in the page cache. */
const ASKED = 256
/** Steps that an accelerator has in an epoch. */
export function stepsPerEpoch({ workload }, { records }, ranks) {
  return Math.floor(records / (workload.batch * ranks))
}
export async function measure(of, data, options) {
  const { accelerators: count, workers, depth, steps, onNotice } = options
  const before = cachedShare(data)
  const slept = sleptMs(of.computeMs)
  const feed = feedOf(of, data)
  const opening = {
    // The accelerators sleep: no core is left to them, and nothing is tried while it is measured.
    ...{ workers: workers === 'auto' ? usableCores() : workers, tune: 'off' },
    ...{ world: count, steps, ...(depth !== undefined && { depth }) },
    notice: onNotice ?? (() => {}),
    progress: (done, total, what, unit) =>
      options.onProgress?.(done, total ?? 0, what ?? 'opening', unit ?? 'files'),
  }
  const devices = accelerators(count, of.computeMs)
  const loaders = []
  try {
    for (let rank = 0; rank < count; rank++) loaders.push(open(feed, { ...opening, rank }))
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
function damaged(error, { paths }) {
  const file =
    error instanceof SampleError ? error.where.file : error instanceof SourceError ? error.file : undefined
  if (file === undefined || !paths.some(path => resolve(path) === resolve(file))) return error
  const { message } = error
  return new SourceError(
    `${message}\nbench wrote this file: delete it, and the next run writes it again: rm ${shellWord(file)}`,
    {
      ...{ file, cause: error },
    },
  )
}
/** Takes all batches of a loop; the arrays of each are asked for, as a trainer would. */
async function trainOn(loader, accelerator, field, told) {
  const steps = []
  let asked = performance.now()
  for await (const batch of loader) {
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
function told10({ onProgress, accelerators: count }, total) {
  let last = 0
  const what = `training on ${count} simulated ${count === 1 ? 'accelerator' : 'accelerators'}`
  return steps => {
    const now = performance.now()
    if (now - last < 100 && steps < total) return
    last = now
    onProgress?.(steps, total, what, 'steps')
  }
}
function slowest(ranks, computeMs) {
  const each = ranks.map(steps => utilisation([steps], computeMs).dlio)
  return each.indexOf(Math.min(...each))
}
function stepsPerSecond(steps) {
  const seconds = (steps[steps.length - 1].done - steps[0].done) / 1000
  return (steps.length - 1) / seconds
}
/** Share of the files' bytes that is in the page cache. */
function cachedShare({ paths }) {
  const step = Math.max(1, Math.floor(paths.length / ASKED))
  const asked = paths.filter((_, i) => i % step === 0)
  const found = absentShare(asked.map(path => ({ path, offset: 0, bytes: Number.MAX_SAFE_INTEGER })))
  return found === null ? null : 1 - found.share
}
