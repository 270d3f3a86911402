/** The process of one measurement of a workload. */
import { serve } from './child.mjs'
import { measure } from './measure.mjs'

serve(({ of, data, options }, told) =>
  measure(of, data, { ...options, onProgress: (...progress) => told(progress), onNotice: told }),
)
