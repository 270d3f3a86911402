/** Builders of fields that are no pictures: numbers, text, arrays, and boxes or points in a picture. */
import type { StoredDtype } from '../../core/basics/array.js'
import type { Dtype } from '../../core/basics/dtype.js'
import { Field, type Form, MappedField, missingJson, type TwoNumbers } from '../../core/define/build/field.js'
import type { TokenizeJson } from '../../core/define/operators/text.js'
import type { Compression, FieldJson } from '../../core/define/types.js'
import type { ArrayOpJson } from '../kinds/array-operators.js'
import type { NormalizeJson, NumberOpJson } from '../kinds/number-operators.js'

type Ragged = NonNullable<FieldJson['ragged']>
type Pad = NonNullable<FieldJson['pad']>

type Floats = 'f16' | 'bf16' | 'f32' | 'f64'
/** What is normalised becomes f32, unless it is of another type of floats. */
type Normalized<D extends Dtype> = D extends Floats ? D : 'f32'

const withOp = <F extends Field>(field: F, op: NumberOpJson): F => {
  const Same = field.constructor as new (json: FieldJson, fn?: unknown) => F
  return new Same({ ...field.json, apply: [...(field.json.apply ?? []), op] }, field.fn)
}

/** One number a row. */
export class NumberField<K extends 'int' | 'float' | 'class', D extends Dtype> extends MappedField<
  K,
  number,
  D,
  'dense'
> {
  /** (x − mean) / std; "standard": by those of the feed's main source. */
  normalize(
    this: NumberField<'int' | 'float', D>,
    normalize: NormalizeJson,
  ): NumberField<Exclude<K, 'class'>, Normalized<D>> {
    return withOp(this, { normalize }) as unknown as NumberField<Exclude<K, 'class'>, Normalized<D>>
  }

  /** No less than `low`, no more than `high`. */
  clamp(this: NumberField<'int' | 'float', D>, low: number, high: number): this {
    return withOp(this, { clamp: [low, high] }) as unknown as this
  }

  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): NumberField<K, T> {
    return this.with({ dtype }) as unknown as NumberField<K, T>
  }

  /** The number of samples that have none. Without it, they are bad samples. */
  missing(value: number): this {
    return this.with({ missing: missingJson(value) })
  }
}

/** The numbers of several columns, side by side. */
export class VectorField<D extends Dtype> extends Field<'vector', D, 'dense'> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): VectorField<T> {
    return this.with({ dtype }) as unknown as VectorField<T>
  }

  /** (x − mean) / std, each a number or one for each column; "standard": by those of the feed's main source. */
  normalize(normalize: NormalizeJson): VectorField<Normalized<D>> {
    return withOp(this, { normalize }) as unknown as VectorField<Normalized<D>>
  }

  /** No less than `low`, no more than `high`. */
  clamp(low: number, high: number): this {
    return withOp(this, { clamp: [low, high] })
  }

  /** The number that stands for a cell without one: a null, an empty cell, NaN. Without it, such a sample is bad. */
  missing(value: number): this {
    return this.with({ missing: missingJson(value) })
  }
}

/** A string a row. */
export class TextField<K extends 'text' | 'json', V> extends MappedField<K, V, 'u8', 'text'> {
  /** The greatest number of bytes of one row, and of a whole batch. */
  ragged(ragged: Ragged): this {
    return this.with({ ragged })
  }

  /** Makes integers of a text: `.tokenize({ tokenizer: 'tokenizer.json', max: 2048 })`. */
  tokenize(this: TextField<'text', V>, tokenize: TokenizeJson['tokenize']): TokensField<'i64', 'ragged'> {
    return new TokensField({ ...this.json, apply: [{ tokenize }] }, this.fn)
  }

  /** The text of samples that have none (JSON as text, such as "null"). Without it, they are bad samples. */
  missing(value: string): this {
    return this.with({ missing: value })
  }
}

/** A text as its tokens, of varying length. */
class TokensField<D extends Dtype, F extends Form> extends MappedField<'text', string, D, F> {
  /** The element type in the batch: i64, i32, u32 or u16. */
  dtype<T extends Dtype>(dtype: T): TokensField<T, F> {
    return this.with({ dtype }) as unknown as TokensField<T, F>
  }

  /** Rows one after the other, with offsets. */
  ragged(ragged: Ragged = {}): TokensField<D, 'ragged'> {
    return this.with({ ragged }) as unknown as TokensField<D, 'ragged'>
  }

  /** Rows filled up to one length. */
  pad(pad: Pad): TokensField<D, 'padded'> {
    return this.with({ pad }) as unknown as TokensField<D, 'padded'>
  }

  /** The text of samples that have none. Without it, they are bad samples. */
  missing(value: string): this {
    return this.with({ missing: value })
  }
}

/** An array of numbers as NumPy has it: `data` are the bytes, little-endian. u64 is only read, never made. */
export interface NpyValue {
  dtype: StoredDtype
  shape: number[]
  data: Uint8Array
}

/** Bytes or arrays, of one shape or of varying length. */
export class ArrayField<K extends 'npy' | 'bytes', V, D extends Dtype, F extends Form> extends MappedField<
  K,
  V,
  D,
  F
> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): ArrayField<K, V, T, F> {
    return this.with({ dtype }) as unknown as ArrayField<K, V, T, F>
  }

  /**
   * Operators of arrays, in this order: `.apply({ crop: { size: [64, 64], at: 'random' } }, { flip: [-1] })`. The field's shape is
   * what comes out.
   */
  apply(...apply: ArrayOpJson[]): this {
    return this.with({ apply })
  }

  /** Moves as another field of arrays does, with the same random choices: a mask with its image. */
  follow(follow: string): this {
    return this.with({ follow })
  }

  /** The column's bytes are compressed: each sample by itself, as a .npy file or as its bare elements. */
  compression(compression: Compression): this {
    return this.with({ compression })
  }

  /**
   * What samples have that have none: a number for all elements, a text for bytes, [] for rows of varying length. Without it,
   * they are bad samples.
   */
  missing(value: F extends 'dense' ? number : K extends 'bytes' ? string : readonly []): this {
    const missing = typeof value === 'number' ? missingJson(value) : typeof value === 'string' ? value : []
    return this.with({ missing })
  }

  /** Rows one after the other, with offsets. */
  ragged(ragged: Ragged = {}): ArrayField<K, V, D, 'ragged'> {
    return this.with({ ragged }) as unknown as ArrayField<K, V, D, 'ragged'>
  }

  /** Rows filled up to one length. */
  pad(pad: Pad): ArrayField<K, V, D, 'padded'> {
    return this.with({ pad }) as unknown as ArrayField<K, V, D, 'padded'>
  }
}

/** Boxes or points in an image. */
export class ThingsField<K extends 'boxes' | 'points', D extends Dtype, F extends Form> extends Field<
  K,
  D,
  F
> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): ThingsField<K, T, F> {
    return this.with({ dtype }) as unknown as ThingsField<K, T, F>
  }

  /** Moves as that image does. */
  follow(field: string): this {
    return this.with({ follow: field })
  }

  /** The greatest number of them in a row, and how many numbers each has: boxes 4, or 5 with a label; points 2. */
  shape(...shape: TwoNumbers<number, K extends 'boxes' ? 4 | 5 : 2>): this {
    return this.with({ shape: shape.flat() as number[] })
  }

  /** Boxes left with less area than this, in pixels, are dropped. */
  minArea(pixels: number): this {
    return this.with({ minArea: pixels })
  }

  /** Samples that have none of the columns have no boxes or points. Without this, they are bad samples. */
  missing(value: readonly [] = []): this {
    return this.with({ missing: [...value] })
  }

  ragged(ragged: Ragged = {}): ThingsField<K, D, 'ragged'> {
    return this.with({ ragged }) as unknown as ThingsField<K, D, 'ragged'>
  }

  pad(pad: Pad): ThingsField<K, D, 'padded'> {
    return this.with({ pad }) as unknown as ThingsField<K, D, 'padded'>
  }
}
