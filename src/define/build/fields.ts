/**
 * Builders of fields: `image('jpg').randomResizedCrop(224).flip().normalize('imagenet')`. Each call gives a new
 * builder, and its type knows what the field will be in a batch.
 */

import type { Dtype, DtypeArrays } from '../../basics/dtype.js'
import type { Size } from '../operators/parameters.js'
import type { OperatorName, OperatorOptions } from '../operators/table.js'
import type { Compression, FieldJson, FieldLayout, Kind, OpJson } from '../types.js'
import type { UserFunction } from './call.js'

type Form = FieldLayout['form']
/** The options of an operator beside its main parameter. */
type Options<N extends OperatorName, Main extends string = never> = Omit<OperatorOptions<N>, Main>
/** A statistic by name, or one's own. */
type Statistics = 'imagenet' | 'half' | 'cifar10' | 'clip' | OperatorOptions<'normalize'>
type Ragged = NonNullable<FieldJson['ragged']>
type Pad = NonNullable<FieldJson['pad']>

/** A field under construction: kind, element type and form are known to the type. */
export class Field<K extends Kind = Kind, D extends Dtype = Dtype, F extends Form = Form> {
  /** For the types of a batch only; never there. */
  declare readonly is: { kind: K; dtype: D; form: F }

  constructor(
    /** The field as JSON, without its function. */
    readonly json: FieldJson,
    readonly fn?: UserFunction,
  ) {}

  protected with(change: Partial<FieldJson>, fn: UserFunction | undefined = this.fn): this {
    const Same = this.constructor as new (json: FieldJson, fn?: UserFunction) => this
    return new Same({ ...this.json, ...change }, fn)
  }
}

/** A field that a function of one's own may change, after decoding. */
export class MappedField<K extends Kind, V, D extends Dtype, F extends Form> extends Field<K, D, F> {
  /** A function over the decoded value; it may use the random source, which is the same in every run, and be async. */
  map(fn: UserFunction<V, V>): this {
    return this.with({}, fn as UserFunction)
  }
}

/** One number a row. */
export class NumberField<K extends 'int' | 'float' | 'class', D extends Dtype> extends MappedField<
  K,
  number,
  D,
  'dense'
> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): NumberField<K, T> {
    return this.with({ dtype }) as unknown as NumberField<K, T>
  }
}

/** A string a row. */
export class TextField<K extends 'text' | 'json', V> extends MappedField<K, V, 'u8', 'text'> {
  /** The greatest number of bytes of one row, and of a whole batch. */
  ragged(ragged: Ragged): this {
    return this.with({ ragged })
  }
}

/** An array of numbers as NumPy has it: `data` are the bytes, little-endian. */
export interface NpyValue {
  dtype: Dtype
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

  /** The column's bytes are compressed: each sample by itself, as a .npy file or as its bare elements. */
  compression(compression: Compression): this {
    return this.with({ compression })
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

/** `.shape(480, 640)`, or as in JSON `.shape([480, 640])`. */
type TwoNumbers<A extends number, B extends number> = [A, B] | [readonly [A, B]]

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

  ragged(ragged: Ragged = {}): ThingsField<K, D, 'ragged'> {
    return this.with({ ragged }) as unknown as ThingsField<K, D, 'ragged'>
  }

  pad(pad: Pad): ThingsField<K, D, 'padded'> {
    return this.with({ pad }) as unknown as ThingsField<K, D, 'padded'>
  }
}

/** What images and masks have in common: operators that move pixels. */
class PixelField<K extends 'image' | 'mask', D extends Dtype> extends Field<K, D, 'dense'> {
  protected op(name: OperatorName, params: unknown): this {
    const apply: OpJson[] = [...(this.json.apply ?? []), { [name]: params }]
    return this.with({ apply })
  }

  /** Moves as that image or mask does, instead of by operators of its own. */
  follow(field: string): this {
    return this.with({ follow: field })
  }

  /** The greatest [height, width], where no operator fixes it; smaller ones are filled up at the right and below. */
  shape(...shape: TwoNumbers<number, number>): this {
    return this.with({ shape: shape.flat() as number[] })
  }

  /** The shorter side to `size`, or both to [height, width]. */
  resize(size: number | Size, options: Options<'resize', 'size'> = {}): this {
    return this.op('resize', { size, ...options })
  }

  centerCrop(size: number | Size): this {
    return this.op('centerCrop', { size })
  }

  randomCrop(size: number | Size, options: Options<'randomCrop', 'size'> = {}): this {
    return this.op('randomCrop', { size, ...options })
  }

  /** A piece of random area and shape, resized. */
  randomResizedCrop(size: number | Size, options: Options<'randomResizedCrop', 'size'> = {}): this {
    return this.op('randomResizedCrop', { size, ...options })
  }

  /** A border: all sides, [horizontal, vertical], or [left, top, right, bottom]. */
  pad(padding: number | number[], options: Options<'pad', 'padding'> = {}): this {
    return this.op('pad', { padding, ...options })
  }

  /** Mirrored with probability `p`. */
  flip(p = 0.5, options: Options<'flip', 'p'> = {}): this {
    return this.op('flip', { p, ...options })
  }

  rotate(degrees: number | [number, number], options: Options<'rotate', 'degrees'> = {}): this {
    return this.op('rotate', { degrees, ...options })
  }

  affine(degrees: number | [number, number], options: Options<'affine', 'degrees'> = {}): this {
    return this.op('affine', { degrees, ...options })
  }

  /** The corners moved inwards by up to `distortion` of half the size, with probability `p`. */
  perspective(distortion = 0.5, options: Options<'perspective', 'distortion'> = {}): this {
    return this.op('perspective', { distortion, ...options })
  }

  /** Pixels displaced by noise: `alpha` is its strength, the option `sigma` its smoothness. */
  elastic(alpha: number | [number, number] = 50, options: Options<'elastic', 'alpha'> = {}): this {
    return this.op('elastic', { alpha, ...options })
  }

  /** A border that makes it up to `sides` times as large. */
  zoomOut(sides: [number, number] = [1, 4], options: Options<'zoomOut', 'sides'> = {}): this {
    return this.op('zoomOut', { sides, ...options })
  }

  /** A piece of so large a share of the sides that overlaps a box of the field that follows. */
  iouCrop(scale: [number, number] = [0.3, 1], options: Options<'iouCrop', 'scale'> = {}): this {
    return this.op('iouCrop', { scale, ...options })
  }

  /** Resized to a random share of what fits into `size`: crop or pad it afterwards, or give `shape`. */
  scaleJitter(size: number | Size, options: Options<'scaleJitter', 'size'> = {}): this {
    return this.op('scaleJitter', { size, ...options })
  }
}

export class MaskField<D extends Dtype> extends PixelField<'mask', D> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): MaskField<T> {
    return this.with({ dtype }) as unknown as MaskField<T>
  }
}

/** `Given` tells whether the element type was given, so that normalize leaves it alone. */
export class ImageField<D extends Dtype, Given extends boolean = false> extends PixelField<'image', D> {
  declare readonly given: Given

  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): ImageField<T, true> {
    return this.with({ dtype }) as unknown as ImageField<T, true>
  }

  /** Where the channels are: first (chw, the default) or last (hwc). */
  layout(layout: 'chw' | 'hwc'): this {
    return this.with({ layout })
  }

  /** Decodes JPEG at a fraction of its size: faster, and not quite the same values. */
  scale(scale: 'auto' | 1 | 2 | 4 | 8): this {
    return this.with({ scale })
  }

  colorJitter(options: Options<'colorJitter'>): this {
    return this.op('colorJitter', options)
  }

  grayscale(p = 1): this {
    return this.op('grayscale', { p })
  }

  gaussianBlur(kernel: number | [number, number], options: Options<'gaussianBlur', 'kernel'> = {}): this {
    return this.op('gaussianBlur', { kernel, ...options })
  }

  autocontrast(p = 0.5): this {
    return this.op('autocontrast', { p })
  }

  posterize(bits: number, options: Options<'posterize', 'bits'> = {}): this {
    return this.op('posterize', { bits, ...options })
  }

  solarize(threshold: number, options: Options<'solarize', 'threshold'> = {}): this {
    return this.op('solarize', { threshold, ...options })
  }

  equalize(p = 0.5): this {
    return this.op('equalize', { p })
  }

  invert(p = 0.5): this {
    return this.op('invert', { p })
  }

  sharpness(factor: number, options: Options<'sharpness', 'factor'> = {}): this {
    return this.op('sharpness', { factor, ...options })
  }

  trivialAugment(options: Options<'trivialAugment'> = {}): this {
    return this.op('trivialAugment', options)
  }

  /** `ops` random changes, all of one strength. */
  randAugment(ops = 2, options: Options<'randAugment', 'ops'> = {}): this {
    return this.op('randAugment', { ops, ...options })
  }

  /** A random pair of changes of a policy: imagenet, cifar10 or svhn. */
  autoAugment(
    policy: NonNullable<OperatorOptions<'autoAugment'>['policy']> = 'imagenet',
    options: Options<'autoAugment', 'policy'> = {},
  ): this {
    return this.op('autoAugment', { policy, ...options })
  }

  photometricDistort(p = 0.5, options: Options<'photometricDistort', 'p'> = {}): this {
    return this.op('photometricDistort', { p, ...options })
  }

  randomErasing(p = 0.5, options: Options<'randomErasing', 'p'> = {}): this {
    return this.op('randomErasing', { p, ...options })
  }

  /** Values scaled to 0…1, less the mean, by the standard deviation; f32 unless another type is given. */
  normalize(statistics: Statistics): ImageField<Given extends true ? D : 'f32', Given> {
    return this.op('normalize', statistics) as unknown as ImageField<Given extends true ? D : 'f32', Given>
  }
}

// Each begins with the column it comes from; alternatives are separated by |, the first present is taken.

export const image = (from: string): ImageField<'u8'> => new ImageField({ from, as: 'image' })
export const mask = (from: string): MaskField<'u8'> => new MaskField({ from, as: 'mask' })
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

/** A name, as its number in the list of classes. */
export const category = (from: string, classes: readonly string[]): NumberField<'class', 'i64'> =>
  new NumberField({ from, as: 'class', classes: [...classes] })

/** An array in NumPy's format: the shape of each (the greatest, with ragged or pad) and the element type of the batch. */
export const npy = <D extends Dtype>(
  from: string,
  { shape, dtype }: { shape: readonly number[]; dtype: D },
): ArrayField<'npy', NpyValue, D, 'dense'> => new ArrayField({ from, as: 'npy', dtype, shape: [...shape] })

/** What a field is in a batch. */
export type ValueOf<F> =
  F extends Field<Kind, infer D, infer Shape>
    ? Shape extends 'text'
      ? string[]
      : Shape extends 'ragged'
        ? { values: DtypeArrays[D]; offsets: Int32Array }
        : DtypeArrays[D]
    : never
