/**
 * The workloads: what DLIO's configurations for MLPerf Storage say of them (record sizes, batch, compute time, the least
 * utilisation). Data as they say, times as they say; the run is ours. So these are DLIO-style workloads, not MLPerf results.
 */
import { DefinitionError, nearest } from '../../../build/core/basics/errors.js'
/** Said wherever a figure is shown. */
export const NOT_MLPERF = 'DLIO-style workload, not an MLPerf result'
const WORKLOADS = {
  unet3d: {
    ...{ name: 'unet3d', format: 'npz', recordBytes: 146_600_628, deviation: 68_341_808, recordsPerFile: 1 },
    ...{ fullFiles: 3500, batch: 7, computeMs: { a100: 636, h100: 323, b200: 162 }, leastAu: 0.9 },
    // A batch of full records has 1 GB and more, and a slot 2 GiB at most. An eighth asks for the same bytes/s.
    ...{ files: 168, scale: 1 / 8, scalable: true },
    delivers: 'all bytes of each array x (u8), ragged',
  },
  resnet50: {
    ...{ name: 'resnet50', format: 'tfrecord', recordBytes: 114_660, deviation: 0, recordsPerFile: 1251 },
    ...{ fullFiles: 1024, batch: 400, computeMs: { a100: 435, h100: 224 }, leastAu: 0.9 },
    ...{ files: 16, scale: 1, scalable: true },
    delivers: 'the bytes of each record’s image, as they are',
  },
  cosmoflow: {
    ...{
      name: 'cosmoflow',
      format: 'tfrecord',
      recordBytes: 2_828_486,
      deviation: 71_311,
      recordsPerFile: 1,
    },
    ...{ fullFiles: 524_288, batch: 1, computeMs: { a100: 5.51, h100: 3.5 }, leastAu: 0.7 },
    ...{ files: 1024, scale: 1, scalable: true },
    delivers: 'the bytes of each record’s image, as they are',
  },
  retinanet: {
    ...{ name: 'retinanet', format: 'jpeg', recordBytes: 322_957, deviation: 0, recordsPerFile: 1 },
    ...{ fullFiles: 1_170_301, batch: 24, computeMs: { b200: 47.55 }, leastAu: 0.85 },
    ...{ files: 6144, scale: 1, scalable: false },
    delivers: 'pictures that were decoded and resized to 800×800 (u8), not their bytes',
  },
}
/** A record has at least so many bytes before it is scaled, and at most so many deviations above the mean. */
export const LEAST_RECORD = 1_000_000
export const MOST_DEVIATIONS = 3
export function workloadOf(name) {
  if (Object.hasOwn(WORKLOADS, name)) return WORKLOADS[name]
  const near = nearest(name, Object.keys(WORKLOADS))
  throw new DefinitionError(
    'options.workload',
    `there is no "${name}"${near ? `, did you mean ${near}?` : ''}: there are ${Object.keys(WORKLOADS).join(', ')}`,
  )
}
/** `accelerator` undefined: an H100, or the only one that the workload has a time for. */
export function scaled(workload, accelerator, scale = workload.scale) {
  const known = Object.keys(workload.computeMs)
  const chosen = accelerator?.toLowerCase() ?? (known.includes('h100') ? 'h100' : known[0])
  const computeMs = workload.computeMs[chosen]
  if (computeMs === undefined)
    throw new DefinitionError(
      'options.accelerator',
      `${workload.name} has no compute time for "${accelerator}": there are ${known.join(', ')}`,
    )
  if (scale !== 1 && !workload.scalable)
    throw new DefinitionError(
      'options.scale',
      `${workload.name} can't be scaled: what its pictures cost is not proportional to their bytes. Leave it out`,
    )
  return {
    ...{ workload, accelerator: chosen, scale },
    recordBytes: Math.round(workload.recordBytes * scale),
    deviation: Math.round(workload.deviation * scale),
    computeMs: computeMs * scale,
  }
}
/** `1/8` or `0.125`. */
export function parseScale(text) {
  const [, above, below = '1'] = /^\s*(\d+(?:\.\d+)?)\s*(?:\/\s*(\d+(?:\.\d+)?))?\s*$/.exec(text) ?? []
  const scale = Number(above) / Number(below)
  if (!(scale > 0 && scale <= 1))
    throw new DefinitionError('options.scale', `it is a share such as 1/8, at most 1, not "${text}"`)
  return scale
}
