/** Two runs that stand for each other: the same configuration, or the two that were given. */
import type { VerdictName } from '../../../observe/evidence.js'
import type { Comparison } from './blocks.js'

/** What a file or folder holds. */
export type Kind = 'bench' | 'log'

/** What a run was set to, and its verdict. */
export interface SideFacts {
  workers: number
  depth: number
  verdict: VerdictName | null
}

/** One pair that was compared: a configuration of both, or the two runs. */
export interface Pair {
  name: string
  a: SideFacts
  b: SideFacts
  comparison: Comparison
}
