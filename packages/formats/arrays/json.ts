/** What may be written for files of arrays. */
import { oneOf, optional } from '../../core/basics/shape.js'
import type { PathsJson } from '../../core/define/types.js'

/** `rows`: each file is a sample (the default), or each step along the arrays' first axis. */
export interface ArrayOptions {
  rows?: 'files' | 'axis'
}

export type ArrayFilesJson = PathsJson | ({ path: PathsJson } & ArrayOptions)

export const rows = optional(oneOf(['files', 'axis'], 'kind of rows'))
