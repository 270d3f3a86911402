/**
 * The contract of a step: one thing that is done to one sample, as plain data that operators choose, and the facts by which
 * executors do it. The same steps drive the CPU kernels, a following mask, boxes or points, and the GPU's parameter rows.
 */
import type { Workspace } from '../../core/system/memory/workspace.js'
import type { Picture } from '../decode/picture/picture.js'

export interface Size {
  width: number
  height: number
}

export type Filter = 'nearest' | 'bilinear' | 'bicubic'

/** An argument of the GPU's op: a whole number, or `{ f32 }` and `{ f64 }` for others. */
export type Arg = number | { f32: number } | { f64: number }

export type Motion = (x: number, y: number) => readonly [x: number, y: number]

/** Corners of boxes lie between pixels, points at their middles. */
export type Thing = 'box' | 'point'

export interface AnyStep {
  do: string
}

/** A step in which each byte becomes what a function says: by a table, unless that looks at its place. */
export interface Table<S extends AnyStep> {
  /** The numbers that it is made by, as the GPU gets them: float32, or 32-bit integers where they are `whole`. */
  numbers?(step: S): number[]
  whole?: boolean
  /**
   * What it depends on beside them: the mean luminance of the picture; how often each byte occurs in a channel; or the number of
   * the byte in the picture, row by row.
   */
  looksAt?: 'mean' | 'counts' | 'place'
  /** What a byte becomes. Float32 where torchvision's is, so that results are the same. */
  value(numbers: readonly number[], mean: number, counts: Uint32Array): (x: number, place: number) => number
}

/** All that is known of a kind of steps. */
export interface StepFacts<S extends AnyStep> {
  do: S['do']
  /** The number of its op in parameter rows, never given away again. Absent: it is gathered into a `place`. */
  code?: number
  /** Does it on the CPU; the picture that comes back may be the same one, changed. */
  run?(step: S, picture: Picture, work: Workspace): Picture
  /** The arguments of the GPU's op. `size` is that of the picture before. */
  args?(step: S, size: Size): readonly Arg[]
  /** Bytes of tables that the GPU's op needs: its function in step.cuh gets them. */
  tableBytes?(size: Size): number
  table?: Table<S>
  /** The size of a sample once it is done. Absent: as before. */
  size?(step: S, size: Size): Size
  /** How coordinates move with the pixels, as in torchvision. Its presence means that followers do the step as well. */
  motion?(step: S, size: Size, thing: Thing): Motion
}

export const step = <S extends AnyStep>(facts: StepFacts<S>): StepFacts<S> => facts
