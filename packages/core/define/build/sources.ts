/** Builders of sources and orders. They are plain JSON; the functions give them names and types. */
import { DefinitionError } from '../../basics/errors.js'
import { whereJson } from '../check/where.js'
import { isBuiltIn } from '../nested.js'
import type { BlendRules, GroupJson, MegatronJson, ZipEntry, ZipRules } from '../order-types.js'
import { nameSource } from '../plugin-sources.js'
import type {
  BlendJson,
  KernelJson,
  KernelOf,
  OrderJson,
  SourceJson,
  SplitJson,
  SyntheticJson,
  WhereJson,
} from '../types.js'

/** Made-up samples, the same for the same index: images, tensors or tokens. */
export const synthetic = (options: SyntheticJson): SourceJson => ({ synthetic: options })

/** Samples that a CUDA kernel of yours makes on the GPU; the feed has its fields. Only at the top. */
export const kernel = <Fields extends KernelJson['fields']>(
  file: string,
  options: Omit<KernelOf<Fields>, 'file'>,
): { kernel: KernelOf<Fields> } => ({ kernel: { file, ...options } })

/** A source that a plugin brings, by its name there, and what the plugin wants to know: see docs/extend.md. */
export function source(name: string, json: unknown = {}): SourceJson {
  if (isBuiltIn(name))
    throw new DefinitionError('', `"${name}" is a source of Millrace's own: write ${name}(…)`)
  nameSource(name)
  return { [name]: json } as unknown as SourceJson
}

/** One after the other. */
export const concat = (...sources: SourceJson[]): SourceJson => ({ concat: sources })

/**
 * Side by side: the columns of all of them in one sample. Files find each other by their names:
 * `zip(files('img/*.png'), { source: files('mask/*.png'), rename: { file: 'mask' } })`, and
 * `zip([a, b], { key: ['(.*)_leftImg8bit', '(.*)_gtFine_labelIds'] })`; or with `by: 'position'` by their places.
 */
export function zip(sources: ZipEntry<SourceJson>[], rules: ZipRules): SourceJson
export function zip(...sources: ZipEntry<SourceJson>[]): SourceJson
export function zip(...given: unknown[]): SourceJson {
  const [sources, rules] = given
  return {
    zip: Array.isArray(sources) ? { sources, ...(rules as ZipRules) } : (given as ZipEntry<SourceJson>[]),
  }
}

/** Some of the rows: a range, a list, or those for which conditions hold. */
export const subset = (
  source: SourceJson,
  choice: { range: [number, number] } | { indices: number[] } | { where: WhereJson },
): SourceJson => ({
  subset: { source, ...choice, ...('where' in choice && { where: whereJson(choice.where) }) },
})

/** One part of a division that goes by the samples' keys: packing the data moves no sample, and adding to it none or few. */
export const split = (source: SourceJson, options: Omit<SplitJson, 'source'>): SourceJson => ({
  split: { source, ...options },
})

/** Several sources mixed by weight. Only at the top. */
export const blend = (
  entries: NonNullable<BlendJson['entries']>,
  options: BlendRules = {},
): { blend: BlendJson } => ({ blend: { entries, ...options } })

/**
 * Token files by a list with lines `<weight> <prefix> <corpus>`, as blendcorpus writes it: `blendList('files.txt', { tokens: { length: 2048 } })`.
 * `epochs` says how often each corpus is seen, in place of the list's weights.
 */
export const blendList = (
  list: string,
  options: BlendRules & Required<Pick<BlendJson, 'tokens'>> & Pick<BlendJson, 'epochs' | 'root'>,
): { blend: BlendJson } => ({ blend: { list, ...options } })

/** As the source has them. */
export const sequential = (): OrderJson => 'none'

/**
 * Every sample once an epoch, in random order; with a window, mixed within so many samples of blocks that are read whole.
 * `group`: batches of like lengths.
 */
export const shuffle = ({
  seed = 0,
  window,
  group,
}: {
  seed?: number
  window?: number
  group?: GroupJson
} = {}): OrderJson => ({
  shuffle: window === undefined ? 'global' : { window },
  seed,
  ...(group && { group }),
})

/** With replacement: by a list of weights, a column of the index, or evenly over the values of a column. */
export const weighted = (
  weights: number[] | { column: string } | { balance: string },
  options: { seed?: number; samples?: number } = {},
): OrderJson => ({ weights, ...options })

/**
 * The order of Megatron's GPTDataset and BlendedDataset, bit for bit, so that a run begun there goes on here. Options are called as
 * docs/language-models.md lists them; by default one epoch with seed 1234 and the split 969,30,1.
 */
export const megatron = (options: MegatronJson = {}): OrderJson =>
  Object.keys(options).length === 0 ? 'megatron' : { megatron: options }
