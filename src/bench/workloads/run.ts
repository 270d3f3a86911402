/** `millrace bench --workload`: writes the data where they are not there yet, trains on them, and reports. */
import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DefinitionError } from '../../basics/errors.js'
import { writeWhole } from '../../system/files/draft.js'
import { makeFolder } from '../../system/files/folder.js'
import { startChild } from '../measure/child.js'
import { makeData, type WorkloadData } from './data.js'
import { type Measurement, type MeasureOptions, stepsPerEpoch } from './measure.js'
import type { MeasureTask, Told } from './measure-process.js'
import { type Most, mostAccelerators } from './most.js'
import type { WorkloadOptions } from './options.js'
import { counted, reportText } from './report.js'
import { NOT_MLPERF, parseScale, type Scaled, scaled, workloadOf } from './table.js'

export { WORKLOAD_OPTIONS, type WorkloadOptions } from './options.js'

/** Unless steps or epochs are given, a run ends after about so many seconds of compute, or after so many epochs. */
const SECONDS = 30
const LEAST_STEPS = 20
const EPOCHS = 5
const SEED = 10
/** An epoch of fewer steps has no utilisation: the first does not count. */
const LEAST_IN_EPOCH = 2
const READ_AT_ONCE = 4 << 20

/** Whether accelerators are sustained is a finding, and no failure: `json.sustained` says it. */
export interface WorkloadOutcome {
  json: object
  text: string
}

export async function benchWorkload(options: WorkloadOptions): Promise<WorkloadOutcome> {
  const workload = workloadOf(options.workload)
  const of = scaled(
    workload,
    options.accelerator,
    options.scale === undefined ? undefined : parseScale(options.scale),
  )
  const wanted = countOf(options.accelerators ?? '1')
  if (options.steps !== undefined && options.steps < LEAST_IN_EPOCH)
    throw new DefinitionError(
      'options.steps',
      `the first step of an epoch does not count: give ${LEAST_IN_EPOCH} or more, not ${options.steps}`,
    )
  if (options.files !== undefined && options.size !== undefined)
    throw new DefinitionError('options.size', '--files and --size both say how much data: give one of them')
  const { seed = SEED, data: folder, files, size, onProgress, onNotice } = options
  const data = await makeData(of, { folder, files, size, seed, onProgress, onNotice })
  const possible = Math.floor(data.records / (workload.batch * LEAST_IN_EPOCH))
  const least = wanted === 'max' ? 1 : wanted
  if (possible < least)
    throw new DefinitionError(
      'options.accelerators',
      `${counted(data.records, 'record')} can't give ${counted(least, 'accelerator')} ${LEAST_IN_EPOCH} steps of ` +
        `${counted(workload.batch, 'sample')} an epoch: more with --files or --size`,
    )
  if (options.warm) await warmUp(data, onProgress)
  const log = options['steps-log']
  if (log !== undefined) makeFolder(dirname(resolve(log)))
  const { workers = 'auto', depth } = options
  const logged: string[] = []
  const run = async (accelerators: number): Promise<Measurement> => {
    const steps = stepsOf(stepsPerEpoch(of, data, accelerators), of.computeMs, options)
    const keepSteps = log !== undefined
    const { times = [], ...measured } = await inProcess(
      { of, data, options: { accelerators, steps, workers, depth, keepSteps } },
      options,
    )
    for (const [rank, own] of times.entries())
      for (const step of own) logged.push(JSON.stringify({ accelerators, rank, ...step }))
    if (log !== undefined) writeWhole(log, `${logged.join('\n')}\n`)
    return measured
  }
  if (wanted !== 'max') {
    const measured = await run(wanted)
    return outcome(of, data, measured)
  }
  const most = await mostAccelerators(possible, run)
  const shown = most.tried.find(({ accelerators }) => accelerators === Math.max(1, most.accelerators))!
  return outcome(of, data, shown, most)
}

/** Each measurement has a process of its own: the memory of one says nothing of the next. */
function inProcess(
  task: MeasureTask,
  { onProgress, onNotice }: Pick<MeasureOptions, 'onProgress' | 'onNotice'>,
): Promise<Measurement> {
  const script = new URL('./measure-process.js', import.meta.url)
  const tell = (what: Told) => (typeof what === 'string' ? onNotice?.(what) : onProgress?.(...what))
  return startChild<MeasureTask, Measurement, Told>(script, task, tell).answer
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

/** Steps of each accelerator: as given; otherwise whole epochs, where there is time for one. */
export function stepsOf(
  inEpoch: number,
  computeMs: number,
  { epochs, steps }: Pick<WorkloadOptions, 'epochs' | 'steps'>,
): number {
  if (epochs !== undefined || steps !== undefined)
    return Math.min(steps ?? Infinity, (epochs ?? Infinity) * inEpoch)
  const most = Math.max(LEAST_STEPS, Math.round((SECONDS * 1000) / computeMs))
  return most < inEpoch ? most : Math.min(EPOCHS, Math.floor(most / inEpoch)) * inEpoch
}

function countOf(text: string): number | 'max' {
  if (text === 'max') return text
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new DefinitionError('options.accelerators', `it is a whole number from 1, or max, not "${text}"`)
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
