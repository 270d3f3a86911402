/** What an operator is: its parameters, what it does to an image, and what size comes out. */

import type { object, Parsed } from '../../basics/shape.js'
import type { Size } from './parameters.js'

export type Keys = Parameters<typeof object>[0]

/** The facts about one operator. */
export interface Operator<K extends Keys = Keys> {
  /** What it says in a chooser, a help text or a document. */
  says: string
  keys: K
  /** The parameter meant by a bare value: `{"resize": 256}` is `{"resize": {"size": 256}}`. */
  main?: keyof K & string
  /** Named sets of parameters: `{"normalize": "imagenet"}`. */
  presets?: Record<string, Record<string, unknown>>
  /** Moves pixels, so that followers do it too. */
  moves?: boolean
  /** Changes values of pixels, so that a mask can't have it. */
  colors?: boolean
  /** pixels: on 8-bit pixels; final: on the way into the batch, after all others; batch: over the finished batch. */
  stage: 'pixels' | 'final' | 'batch'
  /** What must hold between parameters; says what does not. */
  check?(params: Parsed<K>): string | undefined
  /** The size that comes out. Without it: the size that went in. Undefined: not known before the image is. */
  output?(before: Size | undefined, params: Parsed<K>): Size | undefined
}

export const operator = <K extends Keys>(facts: Operator<K>): Operator<K> => facts
