/** The measures of a probe, in their order: what each reads, with how many threads, and for how long. */
import type { Measure, MeasureName } from './speed.js'

export interface Step {
  what: MeasureName
  /** Of one read. */
  bytes: number
  inFlight: number
  /** Share of the time. */
  share: number
  /** How much of a large file it has, of all such parts together. What one step has read is warm for the others. */
  weight: number
}

const KIB = 1024
const MIB = 1024 * KIB
/** A file that is opened, read and closed at once is small up to here. */
const SMALL = 256 * KIB

/** Many large reads at a time need most. The weights are MiB of the file that `--write` writes. */
const RANDOM = [
  { bytes: 4 * KIB, weights: [2, 4, 8] },
  { bytes: 128 * KIB, weights: [8, 24, 64] },
  { bytes: MIB, weights: [12, 32, 84] },
]

export const STEPS: readonly Step[] = [
  { what: 'sequential', bytes: MIB, inFlight: 1, share: 0.15, weight: 18 },
  ...RANDOM.flatMap(({ bytes, weights }) =>
    [1, 8, 32].map((inFlight, i) => {
      return { what: 'random' as const, bytes, inFlight, share: 0.05, weight: weights[i] }
    }),
  ),
  { what: 'small files', bytes: 0, inFlight: 1, share: 0.1, weight: 0 },
  { what: 'small files', bytes: 0, inFlight: 8, share: 0.08, weight: 0 },
  { what: 'stat', bytes: 0, inFlight: 1, share: 0.06, weight: 0 },
  { what: 'list', bytes: 0, inFlight: 1, share: 0.06, weight: 0 },
]

/**
 * The part of large files that a step has to itself (0…1). Sequential reads have the last one: the system reads ahead of
 * them, which would make the next part warm.
 */
export function partOf(step: Step): [from: number, to: number] {
  if (step.weight === 0) return [0, 1]
  const parts = [...STEPS].sort((a, b) => Number(a.what === 'sequential') - Number(b.what === 'sequential'))
  const sum = (steps: readonly Step[]) => steps.reduce((sum, { weight }) => sum + weight, 0)
  const before = sum(parts.slice(0, parts.indexOf(step)))
  return [before / sum(parts), (before + step.weight) / sum(parts)]
}

/** Whether a step can be measured with a file of this size. */
export function suits(step: Step, size: number): boolean {
  if (step.what === 'small files') return size <= SMALL
  return step.what === 'stat' || size >= leastBytes(step)
}

export function missing(step: Step): string {
  if (step.what === 'list') return 'the path is a file'
  if (step.what === 'small files') return `no file of at most ${SMALL / KIB} KiB`
  return `no file of ${sizeOf(leastBytes(step))} or more`
}

function leastBytes({ what, bytes }: Step): number {
  return (what === 'sequential' ? 4 : 8) * bytes
}

/** A measure in words: `random 128 KiB, 8 in flight`. */
export function labelOf({ what, bytes = 0, inFlight }: Pick<Measure, 'what' | 'bytes' | 'inFlight'>): string {
  const label = what === 'random' ? `random ${sizeOf(bytes)}` : what === 'list' ? 'list folders' : what
  return inFlight > 1 ? `${label}, ${inFlight} in flight` : label
}

function sizeOf(bytes: number): string {
  return bytes >= MIB ? `${bytes / MIB} MiB` : `${bytes / KIB} KiB`
}
