/**
 * Batches that are made on the consumer's device, out of nothing but epoch, positions and rows: by a kernel of the
 * user's, or as copies from the pool of a synthetic source. Makers leave such fields alone; the slot has no bytes for
 * them.
 */
import { DTYPES, type Dtype, elements } from '../../basics/dtype.js'
import { ARRAY } from '../../define/kind.js'
import type { FieldMaking } from '../../define/making.js'
import type { NormalFeed, NormalField } from '../../define/types.js'
import type { KernelManifest } from '../../source/made/kernel.js'
import { PLACES, tensorPool } from '../../source/made/synthetic.js'
import type { Job } from './job.js'

/** What makes the generated fields of a feed: all that the device stage needs to launch it. */
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

/** Whether a field is made by a kernel of the user's, or could be copied on the device: from synthetic tensors, as they are. */
export function canGenerateField(field: NormalField, feed: NormalFeed): boolean {
  const { as, from, map, compression, layout } = field
  if (layout.device !== undefined) return true
  const tensors = 'synthetic' in feed.source ? feed.source.synthetic.tensors : undefined
  if (tensors === undefined || feed.map !== undefined) return false
  const { shape, dtype = 'u8' } = tensors
  return (
    as === ARRAY &&
    map === undefined &&
    compression === undefined &&
    from.includes('data') &&
    layout.form === 'dense' &&
    layout.dtype === dtype &&
    dtype !== 'bf16' && // raw bytes are never read as that on the CPU either
    elements(layout.shape) === elements(shape)
  )
}

/** Whether the device makes a field out of nothing, and the worker leaves it alone. */
export function isGenerated(making: FieldMaking): boolean {
  return making.by === 'device' && making.kind === 'generated'
}

/** What makes the generated fields of a job; undefined where there are none. */
export function generatorOf({
  feed,
  sources,
  making,
}: Pick<Job, 'feed' | 'sources' | 'making'>): Generator | undefined {
  const made = feed.fields.filter((_, i) => isGenerated(making[i]))
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
