/** The process of one measurement of a workload. */
import { serve } from '../measure/child-process.js'
import type { WorkloadData } from './data.js'
import { type Measurement, type MeasureOptions, measure } from './measure.js'
import type { Scaled } from './table.js'

export interface MeasureTask {
  of: Scaled
  data: WorkloadData
  options: Omit<MeasureOptions, 'onProgress' | 'onNotice'>
}

/** What it tells meanwhile: progress as `onProgress` takes it, or a notice. */
export type Told = Parameters<NonNullable<MeasureOptions['onProgress']>> | string

serve<MeasureTask, Measurement, Told>(({ of, data, options }, told) =>
  measure(of, data, { ...options, onProgress: (...progress) => told(progress), onNotice: told }),
)
