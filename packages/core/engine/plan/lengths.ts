/**
 * The lengths of all samples, for batches by tokens and batches of like lengths. They come from a column of the index; or
 * from the source, where it knows them (documents of token files); or every sample is made once, and they are kept in the cache
 * folder until the data or the field change.
 */
import { createHash } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { DefinitionError } from '../../basics/errors.js'
import { BY_TOKENS } from '../../define/batching.js'
import { contentHash } from '../../define/hash.js'
import type { OpenedTokenizer } from '../../define/tokenizer.js'
import type { NormalFeed, NormalField } from '../../define/types.js'
import type { Lengths } from '../../order/bins/plan.js'
import { NumberBuilder } from '../../source/index/columns.js'
import { IndexFile, readHeader } from '../../source/index/file.js'
import { withLock } from '../../source/index/lock.js'
import { distrust } from '../../source/index/trust.js'
import { writeIndex } from '../../source/index/write.js'
import type { IndexColumn, OnProgress, Source } from '../../source/source.js'
import { cachedPath } from '../../system/files/cache-folder.js'
import { makeFolder } from '../../system/files/folder.js'
import type { JobSource } from './job.js'

/** A feed whose sources are open. */
export interface OfSources {
  feed: NormalFeed
  sources: readonly JobSource[]
  /** The sources, attached in this thread. */
  attached: readonly Source[]
  /** Bytes that the indexes take. */
  indexBytes: number
  /** The tokenizers of fields that have one, by field. */
  tokenizers?: Readonly<Record<string, OpenedTokenizer>>
}

/** Makes a field of all samples of a source once, and returns the length of each; bad ones have none (engine/pool/measure.ts). */
export type Measure = (
  of: OfSources,
  field: NormalField,
  source: number,
  progress?: OnProgress,
) => Promise<Uint32Array>

/** How lengths are measured, and what is told meanwhile. */
export interface LengthOptions {
  measure?: Measure
  progress?: OnProgress
  notice?: (text: string) => void
}

/** What becomes of bad samples is no matter of lengths. */
const ANY_ERROR = { policy: 'fail', budget: 0 } as const
/** Part of what kept lengths are called by: counted up when they are measured in another way. */
const VERSION = 1

/** Everything that batches of a feed go by. */
export async function findLengths(of: OfSources, options: LengthOptions): Promise<Lengths> {
  const { order, batch, fields } = of.feed
  const { group } = order
  const { bins } = batch
  const name = bins?.field ?? group?.field
  const field = fields.find(one => one.name === name)
  const measured = bins?.by === undefined && (bins !== undefined || group?.by === BY_TOKENS)
  const tokens =
    bins?.by !== undefined
      ? fromColumn(of, bins.by, 'batch.by')
      : measured
        ? await ofField(of, field!, options)
        : undefined
  const most = field?.layout.max ?? Infinity
  // What is longer is a bad sample: it takes no room.
  for (const own of tokens ?? [])
    for (let row = 0; row < own.length; row++) if (own[row] > most) own[row] = most
  const keys = group && (group.by === BY_TOKENS ? tokens : fromColumn(of, group.by, 'order.group.by'))
  return { ...(tokens && { tokens }), ...(keys && { keys }) }
}

/** Numbers in shared memory. */
function shared(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * 4))
}

function fromColumn({ attached }: OfSources, name: string, path: string): Uint32Array[] {
  return attached.map(source => {
    const column = source.index(name)
    if (column === undefined) {
      const known = [...new Set([...source.columns, ...(source.indexed ?? [])])].join(', ')
      throw new DefinitionError(path, `the index has no column "${name}"; the source has ${known}`)
    }
    return numbersOf(source, column, name, path)
  })
}

/** The values of a column, as whole numbers of the same order. */
function numbersOf(source: Source, column: IndexColumn, name: string, path: string): Uint32Array {
  const values = new Float64Array(source.count)
  let whole = true
  for (let row = 0; row < source.count; row++) {
    const value = column.at(row)
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : (value as number)
    if (typeof number !== 'number' || !(number >= 0) || number === Infinity)
      throw new DefinitionError(
        path,
        `"${name}" of ${source.id(row)} is ${JSON.stringify(value) ?? 'missing'}: expected a number from 0, the length of the sample`,
      )
    whole &&= Number.isInteger(number) && number < 2 ** 32
    values[row] = number
  }
  const numbers = shared(source.count)
  if (whole) numbers.set(values)
  else if (path === 'batch.by')
    throw new DefinitionError(path, `"${name}" has values that are no whole numbers, so they count no tokens`)
  // The bits of numbers from 0 on have the order of the numbers.
  else new Float32Array(numbers.buffer).set(values)
  return numbers
}

async function ofField(of: OfSources, field: NormalField, options: LengthOptions): Promise<Uint32Array[]> {
  const known = of.attached.map(source => toldBySource(of.feed, field, source))
  const lengths: Uint32Array[] = []
  for (const [i, reported] of known.entries()) lengths.push(reported ?? (await kept(of, field, i, options)))
  return lengths
}

/** Lengths that the source tells, where the field takes its values as they are. */
function toldBySource(feed: NormalFeed, field: NormalField, source: Source): Uint32Array | undefined {
  if (feed.map !== undefined || field.map !== undefined || field.apply.length > 0) return undefined
  const from = field.from.find(name => source.columns.includes(name))
  for (const name of source.indexed ?? []) {
    const column = source.index(name)
    if (from !== undefined && column?.lengthOf?.includes(from))
      return numbersOf(source, column, name, 'batch.tokens')
  }
  return undefined
}

/** Measured lengths of a source: those of the last time, or new ones, which are kept. */
function kept(
  of: OfSources,
  field: NormalField,
  source: number,
  { measure, progress, notice }: LengthOptions,
): Promise<Uint32Array> {
  const { feed, sources, attached } = of
  const { count } = attached[source]
  const { manifest } = sources[source]
  const { fingerprint, stamp, content } = manifest
  const { name, shape, max } = field.layout
  // How rows lie in a batch does not matter, as long as they have room.
  const layout = { name, dtype: 'u8', form: 'ragged', shape, max } as const
  const made = contentHash(
    { ...feed, fields: [{ ...field, layout }], batch: { last: 'keep', apply: [] }, onError: ANY_ERROR },
    content,
    of.tokenizers,
  )
  const about = createHash('sha256')
    .update(JSON.stringify([VERSION, fingerprint.digest, fingerprint.values, stamp, made, feed.seed]))
    .digest('hex')
  const make = (): Promise<Uint32Array> => {
    if (measure === undefined)
      throw new DefinitionError(
        'batch',
        'the lengths of its samples are not known yet: millrace run measures and keeps them',
      )
    notice?.(
      `The lengths of "${field.name}" are not known yet: all ${count} samples are made once to measure them.`,
    )
    return measure(of, field, source, progress)
  }
  // Without a stamp there is no telling whether the data are the same.
  return stamp === undefined ? make() : keptLengths(`lengths-${field.name}`, about, count, make, notice)
}

/**
 * Measured lengths, kept in the cache folder as an index is: by what they are of, whole or not at all, and measured by one process
 * while the others wait for it. In one process, all rings of a feed share the numbers.
 */
const KIND = 'lengths'

/** Those that this process has in memory, for as long as a feed uses them. */
const known = new Map<string, WeakRef<Uint32Array>>()

/**
 * The lengths that were kept, or new ones. `about` is a digest of all that decides them; `measure` returns `count` of them, in memory
 * that threads share.
 */
export async function keptLengths(
  name: string,
  about: string,
  count: number,
  measure: () => Promise<Uint32Array>,
  notice?: (text: string) => void,
): Promise<Uint32Array> {
  const path = cachedPath(`${name}-${about}`)
  const find = (): Uint32Array | undefined => known.get(about)?.deref() ?? read(path, about, count)
  const make = async (): Promise<Uint32Array> => {
    const found = find()
    if (found !== undefined) return found
    const lengths = await measure()
    write(path, about, lengths)
    return lengths
  }
  const lengths =
    find() ??
    (await (canWrite(path)
      ? withLock(`${path}.lock`, make, { notice, what: 'measures the lengths of samples' })
      : make()))
  for (const [other, numbers] of known) if (numbers.deref() === undefined) known.delete(other)
  known.set(about, new WeakRef(lengths))
  return lengths
}

/** Kept lengths, if they are whole and ours. */
function read(path: string, about: string, count: number): Uint32Array | undefined {
  try {
    const header = readHeader(path, stats => {
      const foreign = distrust(path, stats)
      if (foreign !== undefined) throw new Error(foreign)
    })
    if (header.kind !== KIND || header.meta.about !== about || header.count !== count) return undefined
    const numbers = new IndexFile(path, false, header).numbers('lengths')
    if (numbers.length !== count) return undefined
    const lengths = new Uint32Array(new SharedArrayBuffer(count * 4))
    lengths.set(numbers)
    return lengths
  } catch {
    // There are none, or they are damaged: they are measured again.
    return undefined
  }
}

/** Where they can't be kept, the next open measures again. */
function write(path: string, about: string, lengths: Uint32Array): void {
  try {
    const column = new NumberBuilder()
    for (let row = 0; row < lengths.length; row++) column.push(lengths[row])
    writeIndex(path, KIND, lengths.length, { about }, { lengths: column })
  } catch {
    // No place for it.
  }
}

function canWrite(path: string): boolean {
  try {
    makeFolder(dirname(path))
    accessSync(dirname(path), constants.W_OK)
    return true
  } catch {
    return false
  }
}
