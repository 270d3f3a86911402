/**
 * Builders of fields that are no pictures: `int('cls')`. Each call gives a new builder.
 * A field begins with the column that it comes from; alternatives are separated by |, the first present is taken.
 */
import type { Dtype } from '../../core/basics/dtype.js'
import {
  ArrayField,
  type NpyValue,
  NumberField,
  TextField,
  ThingsField,
  VectorField,
} from './value-fields.js'

export const boxes = (from: string): ThingsField<'boxes', 'f32', 'ragged'> =>
  new ThingsField({ from, as: 'boxes' })
export const points = (from: string): ThingsField<'points', 'f32', 'ragged'> =>
  new ThingsField({ from, as: 'points' })
export const int = (from: string): NumberField<'int', 'i64'> => new NumberField({ from, as: 'int' })
export const float = (from: string): NumberField<'float', 'f32'> => new NumberField({ from, as: 'float' })
export const text = (from: string): TextField<'text', string> => new TextField({ from, as: 'text' })
export const json = (from: string): TextField<'json', unknown> => new TextField({ from, as: 'json' })
export const bytes = (from: string): ArrayField<'bytes', Uint8Array, 'u8', 'ragged'> =>
  new ArrayField({ from, as: 'bytes' })

/** A name, as its number in the list of classes; without a list, in the sorted names that the feed's main source has. */
export const category = (from: string, classes?: readonly string[]): NumberField<'class', 'i64'> =>
  new NumberField({ from, as: 'class', ...(classes && { classes: [...classes] }) })

/** The numbers of several columns as one row: names, and patterns such as `f*` or, to leave one out, `!id`. */
export const vector = (from: string | readonly string[]): VectorField<'f32'> =>
  new VectorField({ from: typeof from === 'string' ? from : [...from], as: 'vector' })

/** An array in NumPy's format: the shape of each (the greatest, with ragged or pad) and the element type of the batch. */
export const npy = <D extends Dtype>(
  from: string,
  { shape, dtype }: { shape: readonly number[]; dtype: D },
): ArrayField<'npy', NpyValue, D, 'dense'> => new ArrayField({ from, as: 'npy', dtype, shape: [...shape] })
