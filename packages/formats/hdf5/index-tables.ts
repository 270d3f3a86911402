/** The index of an HDF5 file as flat columns: a row a dataset, the chunks of all of them one behind the other. */
import type { NumberArray } from '../../core/source/index/columns.js'
import type { IndexFile, TextColumn } from '../../core/source/index/file.js'
import type { ElementType } from './structure/datatype.js'
import type { Filter } from './structure/messages.js'

/** What many datasets have in common: type, filters, and the bytes (base64) of an element that was never written. */
export interface Kind {
  type: ElementType
  filters: Filter[]
  fill?: string
}

export interface Hdf5Tables {
  kinds: readonly Kind[]
  path: TextColumn
  /** Why a dataset can't be read; empty: it can. */
  refused: TextColumn
  /** Names of its axes, where dimension scales have them; joined by a comma. */
  axes: TextColumn
  /** What is to be known of its values. */
  note: TextColumn
  /** 1: it is the scale of an axis. */
  scale: NumberArray
  kind: NumberArray
  dimStart: NumberArray
  dims: NumberArray
  chunkDims: NumberArray
  lies: NumberArray
  offset: NumberArray
  firstChunk: NumberArray
  /** Of a chunk, or of a value of varying length: where it lies (0: nowhere), and its bytes. */
  chunkOffset: NumberArray
  chunkBytes: NumberArray
  /** Of a chunk: bit i, filter i was left out. */
  chunkMask: NumberArray
  /** Of datasets with one number a row, if the index keeps them: the first of theirs in `values`; otherwise −1. */
  firstValue: NumberArray
  values: NumberArray
}

const TEXTS = ['path', 'refused', 'axes', 'note'] as const
const NUMBERS = [
  ...(['scale', 'kind', 'dimStart', 'dims', 'chunkDims', 'lies', 'offset', 'firstChunk'] as const),
  ...(['chunkOffset', 'chunkBytes', 'chunkMask', 'firstValue', 'values'] as const),
]

export function tablesOf(index: IndexFile): Hdf5Tables {
  const texts = TEXTS.map(name => [name, index.text(name)])
  const numbers = NUMBERS.map(name => [name, index.numbers(name)])
  return { kinds: index.header.meta.kinds, ...Object.fromEntries([...texts, ...numbers]) }
}
