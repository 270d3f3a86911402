/**
 * Made-up data, for demos, tests and measurements: row i is a function of (seed, i). Nothing is read, so `need` adds nothing and
 * `sample` makes the bytes.
 *
 *   images   jpg: a JPEG that looks like a photograph to a codec; cls: i mod classes
 *   tensors  data: raw little-endian elements; the first one is i, the others uniform (floats in [0, 1))
 *   tokens   tokens: u16, or u32 for a vocabulary beyond 65,536; the first one is i mod vocabulary
 */

import { createHash } from 'node:crypto'
import { DTYPES, type Dtype, elements, toBf16, toF16 } from '../../basics/dtype.js'
import { SourceError } from '../../basics/errors.js'
import { Random } from '../../basics/random.js'
import type { SyntheticJson } from '../../define/types.js'
import type { Columns, IndexColumn, Manifest, SourceKind } from '../source.js'
import { MadeSource } from './made-source.js'
import { PictureMaker } from './synthetic-picture.js'

const QUALITY = 90
const CLASSES = 10
const VOCABULARY = 50_000
/** Rows are stretches of one pool of random elements, begun at this many different places. */
export const PLACES = 4096
/** Rows of this many bytes are not copied out of the pool but lent, each until the next one is made. */
const LENT = 1 << 20

interface SyntheticManifest extends Manifest {
  kind: 'synthetic'
  json: SyntheticJson
}

export const synthetic: SourceKind<SyntheticJson> = {
  async open(json) {
    if (!(json.count > 0)) throw new SourceError('a synthetic source needs a count above 0')
    const digest = createHash('sha256').update(JSON.stringify(json)).digest('hex').slice(0, 32)
    const manifest: SyntheticManifest = {
      kind: 'synthetic',
      fingerprint: { kind: 'synthetic', count: json.count, digest },
      indexBytes: 0,
      json,
    }
    return manifest
  },

  attach(manifest) {
    return new SyntheticSource((manifest as SyntheticManifest).json)
  },
}

class SyntheticSource extends MadeSource {
  readonly indexed: readonly string[]
  private readonly column: string
  private readonly classes: number | undefined
  private readonly make: (row: number) => Uint8Array

  constructor(json: SyntheticJson) {
    const { column, classes, make } = makerOf(json)
    super(json.count, classes === undefined ? [column] : [column, 'cls'])
    this.column = column
    this.classes = classes
    this.make = make
    this.indexed = classes === undefined ? [] : ['cls']
  }

  override index(name: string): IndexColumn | undefined {
    const { classes } = this
    if (name !== 'cls' || classes === undefined) return undefined
    return { type: 'number', at: row => row % classes }
  }

  sample(row: number, _epoch: number, columns: readonly string[]): Columns {
    const out: Columns = {}
    if (columns.includes(this.column)) out[this.column] = this.make(row)
    if (this.classes !== undefined && columns.includes('cls')) out.cls = row % this.classes
    return out
  }
}

interface SyntheticMaker {
  column: string
  classes?: number
  make: (row: number) => Uint8Array
}

function makerOf({ images, tensors, tokens, seed = 0 }: SyntheticJson): SyntheticMaker {
  if (images !== undefined) {
    const { width, height, quality = QUALITY, classes = CLASSES } = images
    const maker = new PictureMaker(width, height, quality)
    return { column: 'jpg', classes, make: row => maker.make(seed, row) }
  }
  if (tensors !== undefined) {
    const { shape, dtype = 'u8' } = tensors
    return { column: 'data', make: poolMaker(dtype, elements(shape), seed, Number.POSITIVE_INFINITY) }
  }
  if (tokens !== undefined) {
    const { length, vocabulary = VOCABULARY } = tokens
    const dtype = vocabulary <= 65536 ? 'u16' : 'u32'
    return { column: 'tokens', make: poolMaker(dtype, length, seed, vocabulary) }
  }
  throw new SourceError('a synthetic source makes "images", "tensors" or "tokens": say which')
}

/** Makes rows of `length` elements below `limit` by copying stretches of a pool of random ones, made on first use. */
function poolMaker(dtype: Dtype, length: number, seed: number, limit: number): (row: number) => Uint8Array {
  const { bytes } = DTYPES[dtype]
  const random = new Random()
  const lend = length * bytes >= LENT
  let pool: Uint8Array | undefined
  let lent: { at: number; before: Uint8Array } | undefined
  return row => {
    pool ??= makePool(dtype, length + PLACES, seed, limit)
    if (lent) pool.set(lent.before, lent.at)
    const from = placeOf(random, seed, row) * bytes
    if (lend) lent = { at: from, before: pool.slice(from, from + bytes) }
    const out = lend ? pool.subarray(from, from + length * bytes) : pool.slice(from, from + length * bytes)
    put(dtype, new DataView(out.buffer, out.byteOffset), 0, Number.isFinite(limit) ? row % limit : row)
    return out
  }
}

/** The pool from which rows of tensors are copied: row r begins at element `placeOf(seed, r)`, and its first one is r. */
export function tensorPool(dtype: Dtype, length: number, seed: number): Uint8Array {
  return makePool(dtype, length + PLACES, seed, Number.POSITIVE_INFINITY)
}

/** Where in the pool a row begins. */
export function placeOf(random: Random, seed: number, row: number): number {
  return random.key(seed, 0, row, 1).int(PLACES)
}

function makePool(dtype: Dtype, length: number, seed: number, limit: number): Uint8Array {
  const random = new Random().key(seed, 0, 0, 2)
  const out = new Uint8Array(length * DTYPES[dtype].bytes)
  const view = new DataView(out.buffer)
  const float = dtype.includes('f')
  for (let i = 0; i < length; i++) {
    put(dtype, view, i, float ? random.next() : Number.isFinite(limit) ? random.int(limit) : random.bits())
  }
  return out
}

/** Writes element i; whole numbers wrap around as in C. */
function put(dtype: Dtype, view: DataView, i: number, value: number): void {
  const at = i * DTYPES[dtype].bytes
  if (dtype === 'bool') view.setUint8(at, value & 1)
  else if (dtype === 'u8' || dtype === 'i8') view.setUint8(at, value)
  else if (dtype === 'u16' || dtype === 'i16') view.setUint16(at, value, true)
  else if (dtype === 'u32' || dtype === 'i32') view.setUint32(at, value, true)
  else if (dtype === 'i64') view.setBigInt64(at, BigInt(value), true)
  else if (dtype === 'f16') view.setUint16(at, toF16(value), true)
  else if (dtype === 'bf16') view.setUint16(at, toBf16(value), true)
  else if (dtype === 'f32') view.setFloat32(at, value, true)
  else view.setFloat64(at, value, true)
}
