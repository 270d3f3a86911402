/**
 * Builders of images and masks, `image('jpg').randomResizedCrop(224).flip().normalize('imagenet')`, with a method for each operator
 * of the registry; and the operators over whole batches. Each call gives a new builder.
 */
import type { Dtype } from '../../core/basics/dtype.js'
import { type Default, isObject } from '../../core/basics/shape.js'
import type { BatchOperator } from '../../core/define/build/feed.js'
import { Field, type TwoNumbers } from '../../core/define/build/field.js'
import type { Kind, OpJson } from '../../core/define/types.js'
import type { OfBuilders, PictureOperator } from '../operators/operator.js'
import type { STATISTICS } from '../operators/parameters.js'
import { OPERATORS, type OperatorName, type OperatorOptions } from '../operators/registry.js'

/** The names of operators that images have, and masks too where they change no colours. */
type NameOf<Colors extends boolean> = {
  [N in OperatorName]: (typeof OPERATORS)[N] extends OfBuilders<unknown, Colors, 'pixels' | 'final'>
    ? N
    : never
}[OperatorName]

/** The parameter that comes first, by itself. */
type MainOf<N extends OperatorName> =
  (typeof OPERATORS)[N] extends OfBuilders<infer Main, boolean, string>
    ? Main & keyof OperatorOptions<N>
    : never

/** The main parameter, which may be left out where it has a default, and the others; or all of them in one object. */
type Arguments<N extends OperatorName, Main extends keyof OperatorOptions<N> = MainOf<N>> =
  | (object extends OperatorOptions<N> ? [options?: OperatorOptions<N>] : [options: OperatorOptions<N>])
  | ([Main] extends [never]
      ? never
      : object extends Pick<OperatorOptions<N>, Main>
        ? [main?: OperatorOptions<N>[Main], options?: Omit<OperatorOptions<N>, Main>]
        : [main: OperatorOptions<N>[Main], options?: Omit<OperatorOptions<N>, Main>])

type Methods<N extends OperatorName> = {
  [Name in N]: <F>(this: F, ...args: Arguments<Name>) => F
}

function withOp<F extends Field>(field: F, op: OpJson): F {
  const Same = field.constructor as new (json: Json, fn: F['fn']) => F
  return new Same({ ...field.json, apply: [...(field.json.apply ?? []), op] }, field.fn)
}

/** Gives the builder a method for each of these operators. */
function addMethods(prototype: object, keep: (facts: PictureOperator) => boolean): void {
  for (const [name, facts] of Object.entries(OPERATORS as unknown as Record<string, PictureOperator>)) {
    if ((facts.stage !== 'pixels' && facts.stage !== 'final') || !keep(facts)) continue
    const value = function (this: Field, first?: unknown, options?: object): Field {
      return withOp(this, { [name]: written(facts, first, options) })
    }
    Object.defineProperty(prototype, name, { value })
  }
}

/** The parameters as a definition has them. A main one is written even where it is its default. */
function written({ main, keys }: PictureOperator, first: unknown, options?: object): unknown {
  if (main === undefined) return first ?? {}
  const { fallback } = keys[main] as Partial<Default<unknown>>
  const byDefault =
    fallback === undefined ? {} : { [main]: Array.isArray(fallback) ? shortened(fallback) : fallback }
  return isObject(first)
    ? { ...byDefault, ...first }
    : { ...byDefault, ...(first === undefined ? {} : { [main]: first }), ...options }
}

/** One number for equal ones. */
function shortened(list: readonly unknown[]): unknown {
  return list.every(one => one === list[0]) ? list[0] : list
}

type Builder<Base, Names extends OperatorName> = Base & Methods<Names>
type Json = ConstructorParameters<typeof Field>[0]

/** `Field`, with the methods that this module gives it below. */
const MovedField = Field as unknown as new <K extends Kind, D extends Dtype>(
  json: Json,
) => Builder<Field<K, D, 'dense'>, NameOf<false>>

/** What images and masks have in common: operators that move pixels. */
class PixelField<K extends 'image' | 'mask', D extends Dtype> extends MovedField<K, D> {
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
}

addMethods(PixelField.prototype, ({ colors = false }) => !colors)

class MaskField<D extends Dtype> extends PixelField<'mask', D> {
  /** The element type in the batch. */
  dtype<T extends Dtype>(dtype: T): MaskField<T> {
    return this.with({ dtype }) as unknown as MaskField<T>
  }
}

/** A field of pixels, with the methods that this module gives to images below. */
const ColoredField = PixelField as unknown as new <D extends Dtype>(
  json: Json,
) => Builder<PixelField<'image', D>, NameOf<true>>

/** `Given` tells whether the element type was given, so that normalize leaves it alone. */
class ImageField<D extends Dtype, Given extends boolean = false> extends ColoredField<D> {
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

  /** Values scaled to 0…1, less the mean, by the standard deviation; f32 unless another type is given. */
  normalize(
    statistics: keyof typeof STATISTICS | OperatorOptions<'normalize'>,
  ): ImageField<Given extends true ? D : 'f32', Given> {
    return withOp(this, { normalize: statistics }) as unknown as ImageField<
      Given extends true ? D : 'f32',
      Given
    >
  }
}

addMethods(ImageField.prototype, ({ colors = false }) => colors)

/** A picture: RGB, or with `channels: 1` gray. */
export const image = (from: string, options: { channels?: 1 | 3 } = {}): ImageField<'u8'> =>
  new ImageField({ from, as: 'image', ...options })
export const mask = (from: string): MaskField<'u8'> => new MaskField({ from, as: 'mask' })

interface Mixing<Label> extends Omit<OperatorOptions<'mixup'>, 'label'> {
  label?: Label
}

/** Blends images and labels in pairs. */
export function mixup<const Label extends string | undefined = undefined>(
  options: Mixing<Label>,
): BatchOperator<Label> {
  return { json: { mixup: options }, label: options.label as Label }
}

/** Puts a rectangle of another image into each, and mixes labels in proportion. */
export function cutmix<const Label extends string | undefined = undefined>(
  options: Mixing<Label>,
): BatchOperator<Label> {
  return { json: { cutmix: options }, label: options.label as Label }
}

/** Puts four images into one, with the boxes, points and masks that follow them. Labels of other fields stay. */
export function mosaic(options: OperatorOptions<'mosaic'> = {}): BatchOperator<never> {
  return { json: { mosaic: options }, label: undefined as never }
}
