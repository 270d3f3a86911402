/** `millrace bench --workload`: writes the data where they are not there yet, trains on them, and reports. */
import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DefinitionError } from '../../../build/core/basics/errors.js'
import { writeWhole } from '../../../build/core/system/files/draft.js'
import { makeFolder } from '../../../build/core/system/files/folder.js'
import { startChild } from './child.mjs'
import { makeData } from './data.mjs'
import { stepsPerEpoch } from './measure.mjs'
import { mostAccelerators } from './most.mjs'
import { counted, reportText } from './report.mjs'
import { NOT_MLPERF, parseScale, scaled, workloadOf } from './table.mjs'

/** Unless steps or epochs are given, a run ends after about so many seconds of compute, or after so many epochs. */
const SECONDS = 30
const LEAST_STEPS = 20
const EPOCHS = 5
const SEED = 10
/** An epoch of fewer steps has no utilisation: the first does not count. */
const LEAST_IN_EPOCH = 2
const READ_AT_ONCE = 4 << 20
export async function benchWorkload(options) {
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
  const logged = []
  const run = async accelerators => {
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
  const shown = most.tried.find(({ accelerators }) => accelerators === Math.max(1, most.accelerators))
  return outcome(of, data, shown, most)
}
/** Each measurement has a process of its own: the memory of one says nothing of the next. */
function inProcess(task, { onProgress, onNotice }) {
  const script = new URL('./measure-process.mjs', import.meta.url)
  const tell = what => (typeof what === 'string' ? onNotice?.(what) : onProgress?.(...what))
  return startChild(script, task, tell).answer
}
function outcome(of, data, measured, most) {
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
export function stepsOf(inEpoch, computeMs, { epochs, steps }) {
  if (epochs !== undefined || steps !== undefined)
    return Math.min(steps ?? Infinity, (epochs ?? Infinity) * inEpoch)
  const most = Math.max(LEAST_STEPS, Math.round((SECONDS * 1000) / computeMs))
  return most < inEpoch ? most : Math.min(EPOCHS, Math.floor(most / inEpoch)) * inEpoch
}
function countOf(text) {
  if (text === 'max') return text
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1)
    throw new DefinitionError('options.accelerators', `it is a whole number from 1, or max, not "${text}"`)
  return number
}
/** Reads all files once. */
async function warmUp({ paths, bytes }, onProgress) {
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
