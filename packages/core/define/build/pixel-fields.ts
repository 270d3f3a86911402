/** Builders of images and masks, with a method for each operator. */
import type { Dtype } from '../../basics/dtype.js'
import type { Size } from '../operators/parameters.js'
import type { OperatorName, OperatorOptions } from '../operators/table.js'
import type { OpJson } from '../types.js'
import { Field, type TwoNumbers } from './field.js'

/** The options of an operator beside its main parameter. */
type Options<N extends OperatorName, Main extends string = never> = Omit<OperatorOptions<N>, Main>
/** A statistic by name, or one's own. */
type Statistics = 'imagenet' | 'half' | 'cifar10' | 'clip' | OperatorOptions<'normalize'>

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

  /** "stored": pixels as they are stored, not turned upright by EXIF, as torchvision's loaders have them. */
  orientation(orientation: 'exif' | 'stored'): this {
    return this.with({ orientation })
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
