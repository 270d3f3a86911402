/**
 * The contract of a source. A source knows how many samples there are, which bytes hold them, and how to find the columns
 * of a sample in those bytes. While a feed runs it does not read by itself: it says which byte ranges a row needs
 * (`need`), and the maker reads them.
 *
 * There are two steps. `open` runs once, in the main thread. It may take long (scan files, build an index), and returns a
 * manifest: plain data that can be posted to threads, with big tables in index files or SharedArrayBuffers. `attach` runs
 * in every maker, is quick and synchronous, and makes a Source of the manifest.
 */

import type { Random } from '../basics/random.js'
import type { NormalMegatron } from '../define/order-types.js'
import type { SourceJson } from '../define/types.js'
import type { ByteRange } from '../store/store.js'
import type { Columns } from './column.js'
import type { UnitColumn } from './columnar/view.js'
import type { Layout } from './layout.js'
import type { TokenRows } from './token-rows.js'

export type { ArrayColumn, Column, Columns, Tile } from './column.js'
export type { Layout } from './layout.js'
export type { ByteRange }

/** A column that the index holds for every row: for `where`, `stratifyBy`, `groupBy`, weights and class balance. */
export interface IndexColumn {
  type: 'number' | 'string'
  /** The texts are integers, some of them beyond 2^53: they are compared as integers. */
  digits?: boolean
  /** Columns whose values have that many elements: lengths of samples need not be measured then. */
  lengthOf?: readonly string[]
  /** Undefined: the row has no value. */
  at(row: number): number | string | undefined
}

/**
 * A unit is what must be read, and loaded, together, and holds values of several rows: a row group of a Parquet file, a chunk
 * of an array. A leaf is a source that has units; a wrapper hands its references on as they are. It translates rows and
 * names of columns, never the numbers of units.
 */
export interface UnitRef {
  leaf: Leaf
  unit: number
  /** The wanted columns, by the leaf's names. */
  columns: readonly string[]
}

/** What a row needs: ranges of its own, and units that it shares with other rows. */
export interface Need {
  ranges: ByteRange[]
  units: UnitRef[]
  /** The row's number in the unit that was added last, where that unit has `unitColumns`. */
  row?: number
}

/** What was brought for a row, in the order in which it asked: a piece for each range, and the pieces of each unit. */
export interface Pieces {
  ranges: readonly Uint8Array[]
  units: readonly (readonly Uint8Array[])[]
}

/** A source whose rows share units. */
export type Leaf = Source & Required<Pick<Source, 'unitStarts' | 'planUnit' | 'unitBytes'>>

/** Rows are numbered 0…count−1 in the source's own order. */
export interface Source {
  readonly count: number
  /** Names of the columns a sample may have (of the first samples, where they vary). For error messages. */
  readonly columns: readonly string[]
  /** First row of each shard or natural run of rows, ascending, beginning with 0: reading along it is sequential. */
  readonly runs: Float64Array
  /**
   * Stable identity of a row within this source: `shard:key`, or a relative path. Where rows move with epochs, it may tell where
   * the row lies in this one.
   */
  id(row: number, epoch?: number): string
  /** What splits and groups go by: the sample's own name, independent of the shard it lies in. */
  key(row: number): string
  /** A column of the index, or undefined when the index has none of that name. */
  index(name: string): IndexColumn | undefined
  /** Names for which `index` has an answer, for "did you mean". */
  readonly indexed?: readonly string[]
  /** `hashKey(key(row))`, where the index keeps it: splits then need not touch the keys. */
  keyHash?(row: number): number
  /**
   * The file that holds a row and the offset of its first byte there, for error messages; undefined where there is none. Of a row that
   * several files make: the one with the column, if that is given.
   */
  where?(row: number, column?: string): { file: string; offset: number } | undefined
  /** For rows that are files as they lie there: what `pack` needs to know of one. */
  wholeFile?(row: number): WholeFile | undefined
  /**
   * The columns that a row has, for the message that it lacks one, and why that may be; where this is absent, all
   * columns of the source.
   */
  present?(row: number): Present
  /**
   * First row of each unit, ascending from 0; units that share their rows have equal ones. Absent: no two rows share a unit.
   * It follows from the contents alone, never from wanted columns or options: an order by windows is made of it. No unit
   * reaches from one run into the next.
   */
  readonly unitStarts?: Float64Array
  /**
   * What rows need is not the same in every epoch. `own`: the epoch is the source's own; in a blend that is how often all of its
   * rows were drawn before.
   */
  readonly movesWithEpoch?: boolean | 'own'
  /** The sources with units of which this one is made, depth first. Absent: itself, if it has units. */
  readonly leaves?: readonly Leaf[]
  /** Adds what a row needs for the wanted columns to `out`. Pure. In another epoch a row may need something else. */
  need(row: number, epoch: number, columns: readonly string[], out: Need): void
  /** Leaves: the byte ranges of a unit, for the wanted columns. Pure. */
  planUnit?(unit: number, columns: readonly string[]): ByteRange[]
  /** Leaves: the bytes that a loaded unit takes at most, for the cache. */
  unitBytes?(unit: number, columns: readonly string[]): number
  /**
   * Leaves: turns what was read of a unit (a piece a range) into what is kept of it: decompresses, for instance. `into` has
   * `unitBytes` bytes to write to; pieces that lie elsewhere are copied there. Absent: it is kept as it was read.
   */
  load?(
    unit: number,
    pieces: Uint8Array[],
    into: Uint8Array,
    columns: readonly string[],
  ): Uint8Array[] | Promise<Uint8Array[]>
  /**
   * Leaves whose loaded units are columns (columnar/room.ts): these, one for each wanted column; undefined for one that the unit
   * lacks. Fields that take values as they lie there are then made without `sample`, which must give the same values.
   */
  unitColumns?(
    unit: number,
    columns: readonly string[],
    pieces: readonly Uint8Array[],
  ): readonly (UnitColumn | undefined)[]
  /** Samples are what `unitColumns` of the leaf tells, as it is: true for such a leaf, and for wrappers that only select rows. */
  readonly asInUnits?: boolean
  /** Rows of tokens. Where fields are columns that this names, rows are made without `sample`, which must give the same values. */
  readonly tokenRows?: TokenRows
  /**
   * The maker calls this for every row of a claim before it asks for the first of them with `sample`: for sources whose
   * rows are made in another process, by code that may draw random numbers. `random` is keyed by the row's place in the run.
   */
  enqueueRow?(row: number, columns: readonly string[], epoch: number, random: Random): void
  /** The columns of one row, as views into what was brought for it. Columns that the row lacks are absent. */
  sample(row: number, epoch: number, columns: readonly string[], got: Pieces): Columns
  /** How the data lie in their files, for `inspect`; undefined where the format has nothing to tell. */
  layout?(): Layout | undefined
}

export interface WholeFile {
  /** The column with the file's bytes, and the extension of its name, in lower case. */
  column: string
  extension: string
  /** Whether the bytes are also the column of the file's extension. */
  byExtension: boolean
  /** Columns that the file's name, or the list of classes, tells as well. */
  reported: readonly string[]
}

export interface Present {
  columns: readonly string[]
  /** What samples of the same part may have, where a source is put together of parts with different columns. */
  possible?: readonly string[]
  /** A sentence. */
  why?: string
}

/** What describes the contents of a source for the order hash: relative names, counts and sizes, never roots or mtimes. */
export interface Fingerprint {
  kind: string
  count: number
  /** A digest of relative names, counts and sizes. */
  digest: string
  /** Rows that were selected by values of index columns, as a digest: such values belong to no name and no size. */
  values?: string
  /** For the message "what changed": one line a part (a shard, a child), at most a few thousand. */
  parts?: { name: string; count: number; bytes: number }[]
}

/** Plain data from which `attach` makes a Source in any thread. `kind` selects the implementation. */
export interface Manifest {
  kind: string
  fingerprint: Fingerprint
  /** A digest of times of change and indexed values. No part of the order: `pack` tells by it whether its shards are old. */
  stamp?: string
  /** A hash of what decides values and is no data, such as the text of a kernel: part of the content hash. */
  content?: string
  /** The names of the classes of `label` by number, where a folder has them; or of each column of a table. */
  classes?: string[] | Readonly<Record<string, string[]>>
  /** Rows of tokens: how many of them are trained on in an epoch. Places that are only filled up are not. */
  trained?: number
  /** Rows of one epoch, where the source has several epochs behind each other. */
  epochRows?: number
  /** Bytes that the index keeps in memory or mapped, for the budget. */
  indexBytes: number
  [more: string]: unknown
}

/** Told of long work: how much is done, of how much (0: unknown), what it is, and what is counted, such as bytes. */
export type OnProgress = (done: number, total: number, what: string, unit: string) => void

/** What `open` may use. */
export interface OpenContext {
  /** Relative paths are relative to this folder (the definition's file, or the working directory). */
  root: string
  /** Columns that fields ask for by name: small members worth keeping in the index, such as `cls`. */
  wanted: readonly string[]
  /** Columns by which rows are selected, grouped or weighed. What the index of a format lacks of them is read when it is opened. */
  indexed?: readonly string[]
  /** Token files have Megatron's rows, in Megatron's order. */
  megatron?: Omit<NormalMegatron, 'kind'>
  /** The command of a Python process; undefined: the usual one. */
  python?: readonly string[]
  /** Bytes that a value of a column may have at most, where its fields say so: what unpacks to more is refused. */
  most?: Readonly<Record<string, number>>
  /**
   * How far indexes that are there are believed. Unsaid: as far as size and times of the data go, of a long list of files
   * only a selection is looked at. `files`: every file is looked at. `nothing`: everything is indexed anew and compared.
   */
  check?: 'files' | 'nothing'
  /** What becomes of bad samples where all are read when a source is opened: the first is an error (the default), or they are left out. */
  bad?: 'fail' | 'drop'
  /** Told of progress on long work, such as a scan. */
  progress?: OnProgress
  /** Told what the user may want to know although it is no error: an index that had to be rebuilt, and why. */
  notice?: (text: string) => void
}

/** How a source that is made of others opens and attaches them. */
export interface Nesting {
  open(json: SourceJson, context: OpenContext): Promise<Manifest>
  attach(manifest: Manifest): Source
}

/** An implementation: what `load` of a format's descriptor gives (define/format.ts). Leaves have no use for `nesting`. */
export interface SourceKind<Json = unknown> {
  open(json: Json, context: OpenContext, nesting: Nesting): Promise<Manifest>
  attach(manifest: Manifest, nesting: Nesting): Source
  /** The files in which samples lie, without opening them: indexes and lists of classes lie beside them. */
  shards?(json: Json, root: string): Promise<string[]>
  /** Reads a list of files of this kind, which make a blend. `folder`: they may lie there besides in that of the list. */
  list?(list: string, root: string, folder?: string): Promise<ListedFile[]>
}

/** A line of such a list. */
export interface ListedFile {
  line: number
  weight: number
  /** The file's full name, without an ending. */
  prefix: string
  corpus: string
  /** Unlike that of any other file of the corpus: the name without its folders, or all that the list has of it. */
  name: string
}
