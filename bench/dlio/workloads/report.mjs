/** What a run of a workload has found, in words. */

import { partName } from '../../../build/observe/account/parts.js'
import { bytes, count, ms, percent, rate, someCores } from '../../../build/observe/verdict/units.js'
import { NOT_MLPERF } from './table.mjs'

/** Parts below this share are not printed. */
const LEAST = 0.005
/** Sleeps that are longer than the step by more than this share are no steps of the accelerator that is simulated. */
const TOO_LONG = 0.1
/** `1 sample`, `2 samples`. */
export function counted(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`
}
export function reportText(of, data, measured, most) {
  const { workload, scale, accelerator } = of
  const share = scale === 1 ? '' : ` at 1/${Number((1 / scale).toFixed(3))} of its size`
  const title = `${workload.name}${share}, simulated ${accelerator.toUpperCase()}: ${NOT_MLPERF}`
  const rows = [
    ...dataRows(of, data, measured),
    ...(most ? mostRows(of, most) : []),
    ...runRows(of, measured),
  ]
  const wide = Math.max(...rows.map(([name]) => name.length))
  return [title, '', ...rows.map(([name, value]) => `${name.padEnd(wide)}  ${value}`)].join('\n')
}
function dataRows(of, data, measured) {
  const { cached, demand, accelerators, sleptMs } = measured
  const { workload } = of
  const share = cached.before === null ? 'not known' : `${percent(cached.before)} of it`
  return [
    [
      'data',
      `${counted(data.files, 'file')}, ${counted(data.records, 'record')}, ${bytes(data.bytes)} ` +
        `(the full workload: ${count(workload.fullFiles)} files, ${bytes(data.fullBytes)})`,
    ],
    ['in', data.folder],
    ['page cache', `${share} before the run`],
    ['delivered', workload.delivers],
    [
      'asked for',
      `${counted(workload.batch, 'sample')} every ${ms(of.computeMs)}: ${bytes(demand.bytesPerSecond / accelerators)}/s an accelerator`,
    ],
    ...(sleptMs > (1 + TOO_LONG) * of.computeMs
      ? [
          [
            'note',
            `a step of ${ms(of.computeMs)} can't be slept here, it takes ${ms(sleptMs)}: AU says little, take a larger --scale`,
          ],
        ]
      : []),
  ]
}
function mostRows({ workload }, { accelerators, tried, stopped }) {
  const list = [...tried].sort((a, b) => a.accelerators - b.accelerators)
  return [
    [
      'sustained',
      `${accelerators} at an AU of ${percent(workload.leastAu)} or more${stopped ? ` (${stopped})` : ''}`,
    ],
    ...list.map(m => [
      `  ${m.accelerators}`,
      `AU ${percent(m.au.dlio)}, ${rate(m.samplesPerSecond)}, ${bytes(m.bytesPerSecond)}/s`,
    ]),
    ['', 'what follows is of the most that are sustained, or of 1'],
  ]
}
function runRows({ workload }, m) {
  const { parts } = m.account
  const named = Object.keys(parts).filter(part => part !== 'ideal' && parts[part] >= LEAST)
  const where = named.map(part => `${partName(part)} ${percent(parts[part])}`).join(', ')
  const enough = m.sustained ? 'sustained' : 'not sustained'
  return [
    ['accelerators', `${m.accelerators}, ${counted(m.steps, 'step')} each, ${m.stepsPerEpoch} an epoch`],
    [
      'AU',
      `${percent(m.au.dlio)} as DLIO's code counts it, ${percent(m.au.nominal)} by the rules; wanted ${percent(workload.leastAu)}: ${enough}`,
    ],
    [
      'rate',
      `${rate(m.samplesPerSecond)}, ${bytes(m.bytesPerSecond)}/s: ${percent(m.fraction)} of what was asked for`,
    ],
    [
      'step',
      `${ms(m.account.stepMs)} (asleep ${ms(m.sleptMs)} with nothing else at work)${where === '' ? '' : `: ${where}`}`,
    ],
    ['why', m.why],
    ['first batch', ms(m.firstBatchMs)],
    [
      'cost',
      `${someCores(m.cores)}, ${m.cpuSecondsPer1000.toFixed(2)} CPU s per 1000 samples, peak memory ${bytes(m.peakMemoryBytes)}`,
    ],
    [
      'with',
      `${counted(m.workers, 'worker')}, depth ${m.depth}; others used ${someCores(m.otherCores ?? 0)}`,
    ],
  ]
}
