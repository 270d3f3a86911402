/**
 * Batches that are made on the consumer's device, out of nothing but epoch, positions and rows: by a kernel of the
 * user's, or as copies from the pool of a synthetic source. Makers leave such fields alone; the slot has no bytes for
 * them.
 */
import { DTYPES, type Dtype, elements } from '../../basics/dtype.js'
import { DefinitionError } from '../../basics/errors.js'
import { generatedLayout } from '../../define/check/kernel.js'
import type { FieldLayout, NormalFeed, NormalField } from '../../define/types.js'
import type { KernelManifest } from '../../source/made/kernel.js'
import { PLACES, tensorPool } from '../../source/made/synthetic.js'
import type { FeedPlan } from './plan.js'

/** What makes the generated fields of a feed, for whoever launches it. */
export type Generator = KernelGenerator | SyntheticGenerator

export interface KernelGenerator {
  kind: 'kernel'
  /** Absolute: for messages. */
  file: string
  source: string
  /** Texts of the files that it includes, by the names in the #include lines. */
  headers: Record<string, string>
  entry: string
  /** Threads for each row. */
  threads: number
  seed: number
  /** The kernel's arguments after the batch, in their order; `field` is what it is in the feed, null: left out there. */
  fields: GeneratedArgument[]
}

export interface GeneratedArgument {
  /** What the source calls it, and the feed. */
  name: string
  field: string | null
  dtype: Dtype
  dlpack: number[]
  shape: number[]
}

export interface SyntheticGenerator {
  kind: 'synthetic'
  seed: number
  dtype: Dtype
  /** Of one row. */
  elements: number
  /** Row r begins in the pool at Random.key(seed, 0, r, 1).int(places); its first element is r. */
  places: number
  /** The fields that are copied from the pool. */
  fields: GeneratedArgument[]
}

export function isGenerated({ device }: FieldLayout): boolean {
  return device?.kind === 'generated'
}

/** Where a feed is made when nobody has decided yet: on the device only what can't be made elsewhere. */
export function decodeOf(feed: NormalFeed, wanted: 'cpu' | 'gpu' | 'auto'): 'cpu' | 'gpu' {
  if (wanted !== 'auto') return wanted
  return feed.fields.some(field => isGenerated(field.layout)) ? 'gpu' : 'cpu'
}

/** Whether a device makes fields of this feed out of nothing, where it is asked to. */
export function canGenerate(feed: NormalFeed): boolean {
  return generateOnDevice(feed).fields.some(field => isGenerated(field.layout))
}

/** The feed with the fields of a synthetic source of tensors generated, where they come out as they are. */
export function generateOnDevice(feed: NormalFeed): NormalFeed {
  if (!('synthetic' in feed.source) || feed.map !== undefined) return feed
  const { tensors } = feed.source.synthetic
  if (tensors === undefined) return feed
  const { shape, dtype = 'u8' } = tensors
  const fits = ({ as, from, map, compression, layout }: NormalField): boolean =>
    as === 'npy' &&
    map === undefined &&
    compression === undefined &&
    from.includes('data') &&
    layout.form === 'dense' &&
    layout.dtype === dtype &&
    dtype !== 'bf16' && // raw bytes are never read as that on the CPU either
    elements(layout.shape) === elements(shape)
  return {
    ...feed,
    fields: feed.fields.map(field =>
      fits(field) ? { ...field, layout: generatedLayout(field.layout) } : field,
    ),
  }
}

/** Refuses a feed that can't be made on the CPU. */
export function refuseOnHost(feed: NormalFeed): void {
  const names = feed.fields.filter(field => isGenerated(field.layout)).map(field => field.name)
  if (names.length === 0) return
  throw new DefinitionError(
    '',
    `${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} generated on the GPU: open it with device="cuda"`,
  )
}

/** What makes the generated fields of a feed as it is made (`feed`); undefined where there are none. */
export function generatorOf({ sources }: FeedPlan, feed: NormalFeed): Generator | undefined {
  const made = feed.fields.filter(field => isGenerated(field.layout))
  if (made.length === 0) return undefined
  if ('synthetic' in feed.source) {
    const { seed = 0, tensors } = feed.source.synthetic
    const { shape, dtype = 'u8' } = tensors!
    return {
      kind: 'synthetic',
      seed,
      dtype,
      elements: elements(shape),
      places: PLACES,
      fields: made.map(({ name: field, layout }) => argument('data', field, dtype, layout.shape)),
    }
  }
  const { file, text, headers, entry, threads, seed, fields } = sources[0].manifest as KernelManifest
  return {
    kind: 'kernel',
    file,
    source: text,
    headers,
    entry,
    threads,
    seed: seed ?? feed.seed,
    fields: fields.map(({ name, dtype, shape }) =>
      argument(name, made.find(field => field.from[0] === name)?.name ?? null, dtype, shape),
    ),
  }
}

function argument(name: string, field: string | null, dtype: Dtype, shape: number[]): GeneratedArgument {
  return { name, field, dtype, dlpack: [...DTYPES[dtype].dlpack, 1], shape }
}

/** The pool of a synthetic generator: elements + places random ones. */
export function poolOf({ dtype, elements, seed }: SyntheticGenerator): Uint8Array {
  return tensorPool(dtype, elements, seed)
}
