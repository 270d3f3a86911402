/**
 * A program of a user's, compiled against the built package and never run: what it may write, and, after
 * `@ts-expect-error`, what must not compile.
 */
import {
  type Batch,
  type BatchOf,
  bytes,
  category,
  cutmix,
  type DeviceArray,
  type Feed,
  type FeedJson,
  feed,
  fromJson,
  image,
  int,
  kernel,
  type Loader,
  mixup,
  type OpenOptions,
  open,
  shuffle,
  tar,
  text,
} from 'millrace'

/** Whether two types are the same, not just assignable. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** `same<A, B>(true)` compiles only where they are. */
declare function same<A, B>(answer: Same<A, B>): void

type BatchIn<L> = L extends Loader<infer B> ? B : never

const cats = feed({
  source: tar('train.tar'),
  order: shuffle({ seed: 7 }),
  fields: {
    image: image('jpg').randomResizedCrop(224).flip().normalize('imagenet'),
    label: int('cls'),
    kind: category('class', ['a', 'b']),
  },
  batch: { size: 64, apply: [mixup({ classes: 10, label: 'label' })] },
  variants: {
    val: {
      source: tar('val.tar'),
      order: 'none',
      fields: { image: image('jpg').centerCrop(224) },
      batch: 256,
    },
    captioned: { fields: { caption: text('txt'), raw: bytes('bin') } },
    mixed: { batch: { size: 8, apply: [cutmix({ classes: 2, label: 'kind' })] } },
    bare: {},
  },
})

export async function loop(): Promise<void> {
  for await (const batch of open(cats, { workers: 'auto' })) {
    same<typeof batch.image, Float32Array>(true)
    same<typeof batch.label, Float32Array>(true) // mixed: shares of classes
    same<typeof batch.kind, BigInt64Array>(true)
    same<typeof batch.count, number>(true)
    // @ts-expect-error no such field
    batch.lable
    // @ts-expect-error a field of a variant alone
    batch.caption
    const kept: Batch = batch.keep()
    kept.release()
  }
}

// ------------------------------------------------------------------ variants

const val = open(cats, { variant: 'val' })
type Val = BatchIn<typeof val>
same<Val['image'], Uint8Array>(true) // not normalised
same<Val['label'], BigInt64Array>(true) // the variant's batch mixes nothing
same<Val['kind'], BigInt64Array>(true)
// @ts-expect-error no such field
type Misspelt = Val['lable']

const captioned = open(cats, { variant: 'captioned', workers: 2 })
type Captioned = BatchIn<typeof captioned>
same<Captioned['caption'], string[]>(true)
same<Captioned['raw']['offsets'], Int32Array>(true)
same<Captioned['image'], Float32Array>(true)
same<Captioned['label'], Float32Array>(true)

const mixed = open(cats, { variant: 'mixed' })
same<BatchIn<typeof mixed>['kind'], Float32Array>(true)
same<BatchIn<typeof mixed>['label'], BigInt64Array>(true)

const bare = open(cats, { variant: 'bare' })
same<BatchIn<typeof bare>['image'], Float32Array>(true)
same<BatchOf<typeof cats>['image'], Float32Array>(true)

// A variant that is chosen while running: the batch is of one kind or the other.
declare const validating: boolean
const either = open(cats, { variant: validating ? 'val' : undefined })
same<BatchIn<typeof either>['image'], Uint8Array | Float32Array>(true)
declare const anyVariant: OpenOptions
const any = open(cats, anyVariant)
same<BatchIn<typeof any>['image'], Uint8Array | Float32Array>(true)

// @ts-expect-error no such variant
open(cats, { variant: 'vla' })
// @ts-expect-error no such option
open(cats, { workers: 2, dpeth: 4 })
// @ts-expect-error the feed has no variants
open(feed({ source: tar('a.tar'), fields: { label: int('cls') }, batch: 4 }), { variant: 'val' })
feed({
  source: tar('a.tar'),
  fields: { label: int('cls') },
  batch: 4,
  // @ts-expect-error a variant has no such key
  variants: { val: { ordr: 'none', fields: { label: int('cls') } } },
})
feed({
  source: tar('a.tar'),
  fields: { label: int('cls') },
  // @ts-expect-error an operator over batches is made by mixup or cutmix
  batch: { size: 4, apply: [{ mixup: { classes: 10 } }] },
})

// Options keep the types of their functions.
open(cats, { notice: line => line.length, progress: (done, total) => done / total })

// ------------------------------------------------------------------ fields by name

declare const batch: BatchIn<typeof captioned>
same<ReturnType<typeof batch.get<'caption'>>, string[]>(true)
const pixels: Float32Array = batch.get('image')
const shape: number[] = batch.shape('raw')
const lengths: Int32Array = batch.lengths('caption')
// @ts-expect-error no such field
batch.get('lable')
// @ts-expect-error no such field
batch.shape('lable')
// @ts-expect-error no such field
batch.lengths('lable')

// ------------------------------------------------------------------ on a device

const onGpu = open(cats, { device: 'cuda', variant: 'captioned' })
type OnGpu = BatchIn<typeof onGpu>
same<OnGpu['image'], DeviceArray>(true)
same<OnGpu['caption'], string[]>(true)
same<OnGpu['raw']['values'], DeviceArray>(true)
// @ts-expect-error no such field
type NotThere = OnGpu['lable']

const stripes = feed({
  source: kernel('stripes.cu', {
    entry: 'stripes',
    count: 1000,
    fields: { image: { dtype: 'f32', shape: [3, 8, 8] }, label: { dtype: 'i64', shape: [] } },
  }),
  batch: 8,
})
const drawn = open(stripes, { device: 'cuda' })
same<BatchIn<typeof drawn>['label'], DeviceArray>(true)
// @ts-expect-error the kernel makes no such field
type NotMade = BatchIn<typeof drawn>['lable']
const small = kernel('stripes.cu', {
  entry: 'stripes',
  count: 9,
  fields: { image: { dtype: 'f32', shape: [3] } },
})
// On one line: of several overloads, compilers tell the mistake at different places of the call.
// @ts-expect-error the kernel makes no such field
feed({ source: small, fields: { picture: { from: 'imgae' } }, batch: 8 })

// ------------------------------------------------------------------ what is only known as JSON

const unknown: Feed = fromJson({})
const json: FeedJson = unknown.json
export const anyName = open(unknown, { variant: 'whatever' })
export const fromText = open(json, { variant: 'whatever' })
declare const untyped: BatchIn<typeof fromText>
export const value: unknown = untyped.whatever

export type { Misspelt, NotMade, NotThere }
export { lengths, pixels, shape }
