/** What `open` hands to the threads. */
import { oneOf, optional } from '../../core/basics/shape.js'
import type { PathsJson } from '../../core/define/types.js'
import type { Layout } from '../../core/source/layout.js'
import type { Manifest } from '../../core/source/source.js'

export interface ArraysManifest extends Manifest {
  index: string
  checksum: number
  rows: 'files' | 'axis'
  /** All columns, by their numbers in the index. */
  names: string[]
  /** Those that rows have. */
  columns: string[]
  /** Some array is deflated or in Fortran's order. */
  units: boolean
  layout: Layout
  /** Bytes that a value of a column may have at most, where its fields say so. */
  most: Readonly<Record<string, number>>
}

/** `rows`: each file is a sample (the default), or each step along the arrays' first axis. */
export interface ArrayOptions {
  rows?: 'files' | 'axis'
}

export type ArrayFilesJson = PathsJson | ({ path: PathsJson } & ArrayOptions)

export const rows = optional(oneOf(['files', 'axis'], 'kind of rows'))
