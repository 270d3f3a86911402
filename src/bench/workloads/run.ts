/** `millrace bench --workload`: writes the data where they are not there yet, trains on them, and reports. */
import { closeSync, openSync, readSync } from 'node:fs'
import { DefinitionError } from '../../basics/errors.js'
import { makeData, type WorkloadData } from './data.js'
import { type Measurement, measure, stepsPerEpoch } from './measure.js'
import { type Most, mostAccelerators } from './most.js'
import type { WorkloadOptions } from './options.js'
import { reportText } from './report.js'
import { NOT_MLPERF, parseScale, type Scaled, scaled, workloadOf } from './table.js'

export { WORKLOAD_OPTIONS, type WorkloadOptions } from './options.js'

/** Unless told otherwise, a run ends after about so many seconds of compute, or after its epochs. */
const SECONDS = 30
const LEAST_STEPS = 20
const EPOCHS = 5
const SEED = 10
/** An epoch of fewer steps has no utilisation: the first does not count. */
const LEAST_IN_EPOCH = 2
const READ_AT_ONCE = 4 << 20

export interface WorkloadOutcome {
  json: object
  text: string
  /** 1: the accelerators that were asked for are not sustained. */
  code?: number
}

export async function benchWorkload(options: WorkloadOptions): Promise<WorkloadOutcome> {
  const workload = workloadOf(options.workload)
  const of = scaled(
    workload,
    options.accelerator,
    options.scale === undefined ? undefined : parseScale(options.scale),
  )
  const wanted = countOf(options.accelerators ?? '1')
  const { seed = SEED, data: folder, files, size, onProgress, onNotice } = options
  const data = await makeData(of, { folder, files, size, seed, onProgress, onNotice })
  const possible = Math.floor(data.records / (workload.batch * LEAST_IN_EPOCH))
  if (possible < (wanted === 'max' ? 1 : wanted))
    throw new DefinitionError(
      '--accelerators',
      `${data.records} records are too few for ${LEAST_IN_EPOCH} steps of ${workload.batch} samples an epoch: more with --files or --size`,
    )
  if (options.warm) await warmUp(data, onProgress)
  const { workers = 'auto', depth } = options
  const run = (accelerators: number): Promise<Measurement> => {
    const steps = stepsOf(of, data, accelerators, options)
    return measure(of, data, { accelerators, steps, workers, depth, onProgress, onNotice })
  }
  if (wanted !== 'max') {
    const measured = await run(wanted)
    return outcome(of, data, measured)
  }
  const most = await mostAccelerators(possible, run)
  const shown = most.tried.find(({ accelerators }) => accelerators === Math.max(1, most.accelerators))!
  return outcome(of, data, shown, most)
}

function outcome(of: Scaled, data: WorkloadData, measured: Measurement, most?: Most): WorkloadOutcome {
  const { workload, accelerator, scale, computeMs } = of
  const { paths: _, ...about } = data
  const json = {
    what: NOT_MLPERF,
    workload: workload.name,
    ...{ accelerator, scale, batch: workload.batch, computeMs, leastAu: workload.leastAu },
    delivers: workload.delivers,
    data: about,
    ...measured,
    ...(most && { most }),
  }
  return { json, text: reportText(of, data, measured, most) }
}

/** Steps of each accelerator: whole epochs where there is time for one. */
function stepsOf(
  of: Scaled,
  data: WorkloadData,
  accelerators: number,
  { epochs = EPOCHS, steps }: WorkloadOptions,
): number {
  const inEpoch = stepsPerEpoch(of, data, accelerators)
  const most = steps ?? Math.max(LEAST_STEPS, Math.round((SECONDS * 1000) / of.computeMs))
  const all = epochs * inEpoch
  if (all <= most) return all
  return steps === undefined && most >= inEpoch ? Math.floor(most / inEpoch) * inEpoch : most
}

function countOf(text: string): number | 'max' {
  if (text === 'max') return text
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new DefinitionError('--accelerators', `it is a whole number from 1, or max, not "${text}"`)
  return number
}

/** Reads all files once. */
async function warmUp(
  { paths, bytes }: WorkloadData,
  onProgress: WorkloadOptions['onProgress'],
): Promise<void> {
  const buffer = new Uint8Array(READ_AT_ONCE)
  let done = 0
  for (const path of paths) {
    const fd = openSync(path, 'r')
    try {
      for (let got = -1; got !== 0; ) done += got = readSync(fd, buffer)
    } finally {
      closeSync(fd)
    }
    onProgress?.(done, bytes, 'reading data', 'bytes')
    await new Promise(setImmediate) // so that Ctrl-C and progress get their turn
  }
}
