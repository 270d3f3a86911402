/** Builders of sources and orders. They are plain JSON; the functions give them names and types. */
import { DefinitionError } from '../../basics/errors.js'
import { isBuiltIn } from '../nested.js'
import type { BlendRules, GroupJson, MegatronJson, ZipEntry, ZipRules } from '../order-types.js'
import { nameSource } from '../plugin-sources.js'
import type { TokensJson } from '../token-types.js'
import type {
  ArrayFilesJson,
  BlendJson,
  ChatJson,
  CsvJson,
  Hdf5Json,
  KernelJson,
  KernelOf,
  ListJson,
  LitdataJson,
  OrderJson,
  PathsJson,
  SourceJson,
  SplitJson,
  SyntheticJson,
  TarJson,
  TextLinesJson,
  TfrecordJson,
  WhereJson,
  ZarrJson,
} from '../types.js'

/**
 * Shards of the WebDataset kind: paths or patterns such as `train-{0000..0015}.tar`; or `{ path: 'shards.json', root: '/data' }`, where a
 * shard list names shards that lie elsewhere.
 */
export function tar(json: Exclude<TarJson, PathsJson>): SourceJson
export function tar(...paths: string[]): SourceJson
export function tar(...given: (string | Exclude<TarJson, PathsJson>)[]): SourceJson {
  const [first] = given
  return { tar: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

/**
 * A folder with one folder for each class: columns image, label, class, path. `classes` names them in the order of their labels, or the
 * folder whose classes these are: `folder('val', { classes: 'train' })`.
 */
export const folder = (
  path: string,
  options: { classes?: string | string[]; extensions?: string[] } = {},
): SourceJson => ({ folder: Object.keys(options).length === 0 ? path : { path, ...options } })

/**
 * Single files, by paths or patterns; or those that a list names, with its other columns: `files({ list: 'train.csv',
 * path: 'file' })`.
 */
export function files(list: ListJson): SourceJson
export function files(...paths: string[]): SourceJson
export function files(...given: (string | ListJson)[]): SourceJson {
  const [first] = given
  return { files: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

/**
 * Zarr arrays of version 2 or 3, whose first axis is the rows: `zarr('train.zarr', { arrays: { image: 'images', label: 'y' } })`.
 * With `rows: 'groups'` each group is a row.
 */
export const zarr = (
  path: string | string[],
  options: Omit<Extract<ZarrJson, { path: unknown }>, 'path'> = {},
): SourceJson => ({ zarr: Object.keys(options).length === 0 ? path : { path, ...options } })
/** LitData: folders with an index.json. `block`: of chunks of tokens, how many a sample has. */
export function litdata(json: LitdataJson): SourceJson
export function litdata(...paths: string[]): SourceJson
export function litdata(...given: (string | LitdataJson)[]): SourceJson {
  const [first] = given
  return { litdata: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}

/** MDS, the format of Mosaic's streaming: folders with an index.json. */
export const mds = (...paths: string[]): SourceJson => ({ mds: oneOrMore(paths) })

/** TFRecord files: paths or patterns; the features of a tf.Example are columns. `check: false` compares no checksums of data. */
export function tfrecord(json: TfrecordJson): SourceJson
export function tfrecord(...paths: string[]): SourceJson
export function tfrecord(...given: (string | TfrecordJson)[]): SourceJson {
  const [first] = given
  return { tfrecord: typeof first === 'object' ? first : oneOrMore(given as string[]) }
}
/**
 * .npy files: each is a sample, column `data` or `column`; with `rows: 'axis'`, each step along the first axis is:
 * `zip(npyFiles('x.npy', { rows: 'axis' }), npyFiles('y.npy', { rows: 'axis', column: 'label' }))`.
 */
export const npyFiles = (
  path: string | string[],
  options: { rows?: 'files' | 'axis'; column?: string } = {},
): SourceJson => ({ npy: Object.keys(options).length === 0 ? path : { path, ...options } })

/** .npz files: each is a sample with a column for each array; with `rows: 'axis'`, each step along their first axis is. */
export const npz = (path: string | string[], options: { rows?: 'files' | 'axis' } = {}): SourceJson => ({
  npz: arrayFiles(path, options),
})

/** .safetensors files: as npz. */
export const safetensors = (
  path: string | string[],
  options: { rows?: 'files' | 'axis' } = {},
): SourceJson => ({ safetensors: arrayFiles(path, options) })

/** Made-up samples, the same for the same index: images, tensors or tokens. */
export const synthetic = (options: SyntheticJson): SourceJson => ({ synthetic: options })

/** Samples that a CUDA kernel of yours makes on the GPU; the feed has its fields. Only at the top. */
export const kernel = <Fields extends KernelJson['fields']>(
  file: string,
  options: Omit<KernelOf<Fields>, 'file'>,
): { kernel: KernelOf<Fields> } => ({ kernel: { file, ...options } })

/** Arrow files and streams (Feather too), or a folder that Hugging Face's datasets saved: rows are samples. */
export const arrow = (path: PathsJson, options: { split?: string; root?: string } = {}): SourceJson => ({
  arrow: Object.keys(options).length === 0 ? path : { path, ...options },
})

/** CSV and TSV files: a record is a sample, its cells are the columns. */
export const csv = (path: PathsJson, options: Omit<CsvJson, 'path'> = {}): SourceJson => ({
  csv: Object.keys(options).length === 0 ? path : { path, ...options },
})

/** JSON lines: an object in each line is a sample, its keys are the columns. */
export const jsonl = (...paths: string[]): SourceJson => ({ jsonl: oneOrMore(paths) })

/** Lines of text files: columns text and line. */
export const textLines = (path: PathsJson, options: Omit<TextLinesJson, 'path'> = {}): SourceJson => ({
  text: Object.keys(options).length === 0 ? path : { path, ...options },
})

/** Parquet files: a row is a sample; its columns are those of the files. `where` takes the rows that meet conditions on columns. */
export const parquet = (
  path: PathsJson,
  options: { where?: WhereJson; root?: string; checksums?: boolean } = {},
): SourceJson => ({
  parquet:
    Object.keys(options).length === 0
      ? path
      : { path, ...options, ...(options.where && { where: whereJson(options.where) }) },
})

/** HDF5 files, by paths or patterns: a sample is a row of the first axis, or a group. */
export const hdf5 = (path: PathsJson, options: Omit<Hdf5Json, 'path'> = {}): SourceJson => ({
  hdf5: Object.keys(options).length === 0 ? path : { path, ...options },
})

/** netCDF-4 files, which are HDF5 files with names for their axes. */
export const netcdf4 = (path: PathsJson, options: Omit<Hdf5Json, 'path'> = {}): SourceJson => ({
  netcdf4: Object.keys(options).length === 0 ? path : { path, ...options },
})

/**
 * Files of tokens (Megatron-LM, nanoGPT, llm.c, .npy, OLMo) as rows of a fixed length: `tokens('corpus-*.bin', { length: 2048 })`.
 * The feed has `input` and `target`, unless it names other columns.
 */
export const tokens = <const Options extends Omit<TokensJson, 'path'>>(
  path: PathsJson,
  options: Options,
): { tokens: Options & { path: PathsJson } } => ({ tokens: { ...options, path } })

/**
 * Conversations as rows of tokens, by a model's tokenizer and chat template: `chat(jsonl('chat.jsonl'), { tokenizer: 'model', length: 2048 })`.
 * The feed has `input` and `target`, in which only what the assistant wrote is a target; with `pairs: true`, pairs of answers.
 */
export const chat = <const Options extends Omit<ChatJson, 'source'>>(
  source: SourceJson,
  options: Options,
): { chat: Options & { source: SourceJson } } => ({ chat: { ...options, source } })

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

/** In a patch of a variant, null removes. Within a list it stays what it is. */
const whereJson = (where: WhereJson): WhereJson => (hasNull(where) ? { $all: [where] } : where)
const hasNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value as object).some(hasNull))

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

const oneOrMore = (paths: string[]): string | string[] => (paths.length === 1 ? paths[0] : paths)

const arrayFiles = (path: string | string[], options: { rows?: 'files' | 'axis' }): ArrayFilesJson =>
  Object.keys(options).length === 0 ? path : { path, ...options }
