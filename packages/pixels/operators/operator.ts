/**
 * The contract of an operator. A definition knows its parameters (core/define/operator.ts); here it also chooses steps, from its
 * parameters, the sample's size and a keyed random source, before a pixel is decoded.
 */

import type { Random } from '../../core/basics/random.js'
import type { Parsed } from '../../core/basics/shape.js'
import type { Keys, Operator } from '../../core/define/operator.js'
import type { Rows } from '../decode/array/rows.js'
import type { CropStep } from './crop/step.js'
import type { AnyStep, Size, StepFacts } from './step.js'

/** What else an operator may look at. */
export interface Scene {
  /** The boxes of a field as the steps so far have moved them. */
  boxes(field: string): Rows
  /** The crop that was chosen for this sample before, null if none was: then there are no boxes to look at. */
  recalled?: CropStep | null | undefined
}

/** A transform of torchvision's that is the operator: by our parameters, the names of its attributes. */
export interface Torchvision {
  parameters: Record<string, string>
  /** Our parameters that are numbers of pixels, 0…255; torchvision's are such only while a picture has bytes. */
  bytes?: readonly string[]
  /** Attributes that must have a certain value. */
  needs?: Record<string, boolean | number>
}

export interface PictureOperator<
  K extends Keys = Keys,
  S extends readonly StepFacts<AnyStep>[] = readonly StepFacts<AnyStep>[],
> extends Operator<K> {
  /** One entry of `apply`, as a test and a reader may write it. */
  example: unknown
  /** What docs/define.md says of it, where that is more than `says`. */
  about?: string
  /** What it says behind a parameter's name, where that is not its default. */
  defaults?: Partial<Record<keyof K & string, string>>
  /** Python's types of those parameters that are its own alone (scripts/generate/operators.mjs has the others). */
  python?: Partial<Record<keyof K & string, string>>
  /** By the names of torchvision's classes. One that takes more than a look at attributes is in python/millrace/_define/torchvision_pixels.py. */
  torchvision?: Record<string, Torchvision | undefined>
  /** Other names that libraries have for it, in small letters without `_`, and what has to be given then, behind a comma. */
  elsewhere?: Record<string, string>
  /** The steps that come with it. */
  steps?: S
  /** Its steps for a sample that has `size` when the operator meets it. Absent: it works on whole batches. */
  choose?(params: Parsed<K>, size: Size, random: Random, scene: Scene): AnyStep[]
  /** Most steps that it chooses, where that is more than one. */
  most?: number | ((params: Parsed<K>) => number)
}

/** Facts of one operator that the types of builders need. */
export interface OfBuilders<Main, Colors, Stage> {
  main?: Main
  colors?: Colors
  stage: Stage
}

export const operator = <
  K extends Keys,
  const S extends readonly StepFacts<AnyStep>[] = [],
  Main extends keyof K & string = never,
  Colors extends boolean = false,
  Stage extends Operator['stage'] = 'pixels',
>(
  facts: PictureOperator<K, S> & OfBuilders<Main, Colors, Stage>,
): PictureOperator<K, S> & OfBuilders<Main, Colors, Stage> => facts

/** An operator that does one thing with probability `p`, or nothing. */
export function withChance<P extends { p: number }, S extends AnyStep>(step: (params: P) => S) {
  return (params: P, _: Size, random: Random): S[] => (random.next() < params.p ? [step(params)] : [])
}

/** Rounds halves to the even neighbour, as Python and torch do. */
export function roundEven(x: number): number {
  const floor = Math.floor(x)
  if (x - floor !== 0.5) return Math.round(x)
  return floor % 2 === 0 ? floor : floor + 1
}
