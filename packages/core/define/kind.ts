/**
 * What others know of a kind of field (`as` in a definition): a descriptor each, which the package that decodes it brings. What may be
 * written for a field, how it lies in a batch and who makes it all come from here; nothing else names a kind.
 * packages/all/registry.ts adds all of them, once a thread.
 */
import type { Dtype } from '../basics/dtype.js'
import type { FieldProgram, FieldValue, InSlot, RowContext, UserMap } from '../engine/make/program.js'
import type { Manifest, OpenContext, Source } from '../source/source.js'
import type { Workspace } from '../system/memory/workspace.js'
import type { DeviceKind, SlotField } from './making.js'
import type { FieldJson, FieldLayout, Kind, NormalFeed, NormalField, NormalOp } from './types.js'

export type Fields = Readonly<Record<string, FieldJson>>

/** How a value of a column becomes a row of a batch. */
export interface Decoder {
  /** What a definition calls it. */
  readonly name: Kind
  /** One sentence. */
  readonly says: string
  readonly example: FieldJson
  /** What may be written for a field of it. */
  readonly rules: FieldRules
  /** How the field `name` lies in a batch. Throws where its definition leaves that open. */
  layout(name: string, fields: Fields, path: string): FieldLayout
  /** The program of a field, for one worker and ring. */
  compile(field: NormalField, slot: InSlot, map?: UserMap): FieldProgram
  /** Decodes values in full, to see whether they are what they should be: throws where one is not. Absent: any value is right. */
  verify?(classes: readonly string[]): (value: FieldValue, work: Workspace) => unknown
  /** How a GPU makes it. Absent: workers alone can. */
  readonly device?: DeviceForm
}

export interface FieldRules {
  /** Keys of a field beside from and as. */
  readonly keys: readonly (keyof FieldJson)[]
  /** Element types that a field can have; the first is the default. Empty: must be given. */
  readonly dtypes: readonly Dtype[]
  readonly traits?: FieldTraits
  /** Kinds of fields that it can follow. */
  readonly follows?: readonly Kind[]
  /** Its operators in normal form, checked. Absent: it has none. */
  operators?(name: string, fields: Fields, path: string): NormalOp[]
  /** Refuses what does not hold together; `layout` is the field's. */
  check?(name: string, fields: Fields, path: string): void
  limit(field: NormalField): ByteLimit
  /** What its definition may leave to the data. Absent: nothing. */
  readonly open?: OpenRules
}

/** What a kind is like, where others ask. */
export interface FieldTraits {
  /** It takes all columns that it names, and patterns of names; others take the first that is there. */
  wide?: boolean
  /** Its rows are bytes, so that a text stands for missing ones. */
  bytes?: boolean
  /** It is the number of a class: a batch can mix it. */
  label?: boolean
  /** Last parts of the names of columns that are usually so: `png`. */
  columns?: readonly string[]
}

/** The bytes of a value that a field takes. */
export interface ByteLimit {
  most: number
  /** What to do about a value that has more. Absent: its header says how large it is, and the decoder looks at that. */
  mend?: string
}

/** A field as far as that shows what it leaves to the data; its operators as they are written, or in normal form. */
export interface OpenField {
  as: Kind
  from: readonly string[]
  apply?: readonly unknown[]
  classes?: readonly string[]
}

export interface OpenRules {
  /** What a definition would have to say so that the data need not be looked at; undefined when it does. */
  lacks(field: OpenField): string | undefined
  /** Loads what finds it in the data. */
  load(): Promise<(field: NormalField, main: MainSource) => Promise<NormalField>>
}

/** The main source of a feed, open. */
export interface MainSource {
  readonly sources: readonly { manifest: Manifest }[]
  readonly attached: readonly Source[]
  /** Bad samples are left out. */
  readonly drops: boolean
  readonly context: OpenContext
}

/** How the device of the process that takes the batches makes a field. */
export interface DeviceForm {
  readonly kind: DeviceKind
  /** Why workers make a field although the device could be asked; undefined when they need not. */
  staysOnCpu(field: NormalField, feed: NormalFeed): string | undefined
  /** What workers leave of it in the slot. */
  layout(field: NormalField, feed: NormalFeed, facts: BatchFacts): SlotField
  /** Makes a row, on the CPU and in its place, that the device refused. */
  redo(field: NormalField, place: SlotField, at: number, context: RowContext): void
  /** Which variety of its kind a value is, where the device gets only those that are common. */
  variety?(bytes: Uint8Array): number | undefined
}

/** What decides how much room a value gets. */
export interface BatchFacts {
  /** Rows of a batch. */
  rows: number
  /** Of a sample, as far as the source knows. */
  meanBytes?: number | undefined
}

const decoders = new Map<string, Decoder>()

/** Makes kinds of fields known to all definitions of this thread. */
export function addDecoders(...list: readonly Decoder[]): void {
  for (const decoder of list) decoders.set(decoder.name, decoder)
}

/** All of them, in the order in which they were added. */
export function allDecoders(): Decoder[] {
  return [...decoders.values()]
}

/** The decoder of a field whose definition was checked. */
export function decoderOf({ as }: { as: Kind }): Decoder {
  return decoders.get(as)!
}

/** The kinds of the fields that core itself writes: numbers and arrays of tokens and of kernels. */
export const NUMBER: Kind = 'int'
export const ARRAY: Kind = 'npy'

// ------------------------------------------------------------------ columns

/** Whether the name of a column is a pattern: `f*`, `f?`, or `!id`, which takes away what others name. */
export const isPattern = (name: string): boolean => /[*?]|^!/.test(name)

/** Whether a field is made of all columns that it names. */
export const isWide = (field: { as: Kind }): boolean => decoderOf(field).rules.traits?.wide === true

/** The columns of a field as they are written: alternatives, or all that it is made of. */
export function writtenColumns({ as, from }: Pick<FieldJson, 'as' | 'from'>): string[] {
  if (isWide({ as })) return typeof from === 'string' ? [from] : from
  return (from as string).split('|').map(column => column.trim())
}

/** Whether the main source has to be looked at to know what a field is. */
export function isOpenField(field: OpenField): boolean {
  return decoderOf(field).rules.open?.lacks(field) !== undefined
}
