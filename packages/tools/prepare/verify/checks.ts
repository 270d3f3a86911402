/** Whether the bytes of a column are what they should be: decoded in full, by the decoders that a run uses. */

import { countOf, isRead, isTiled, type TiledArray } from '../../../core/basics/array.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { checkLimit, type Limit } from '../../../core/define/limits.js'
import type { Kind } from '../../../core/define/types.js'
import type { Column } from '../../../core/source/source.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { decodeBoxes } from '../../../pixels/decode/array/boxes.js'
import { decodeNpy } from '../../../pixels/decode/array/npy.js'
import { decodePoints } from '../../../pixels/decode/array/points.js'
import { decodeImage, imageInfo } from '../../../pixels/decode/picture/image.js'
import { classTable, decodeClass } from '../../../pixels/decode/text/class.js'
import { decodeJson } from '../../../pixels/decode/text/json.js'
import { decodeFloat, decodeInt } from '../../../pixels/decode/text/number.js'
import { decodeText } from '../../../pixels/decode/text/text.js'

/** Throws a DecodeError that says what is wrong. */
export type Check = (value: Column, work: Workspace) => unknown

/** What to look for in a sample: the first of `columns` that is there, decoded as `kind`. */
export interface Expectation {
  columns: string[]
  kind: Kind
  /** The kind is guessed from the column's name: a number, text or array is right as it is. */
  guessed?: boolean
  /** Samples without any of the columns are all right. */
  optional?: boolean
  /** Names of the classes, for kind `class`. */
  classes?: string[]
  /** What the field takes at most. */
  limit?: Limit
}

const EXTENSIONS: Partial<Record<Kind, string[]>> = {
  image: ['image', 'jpg', 'jpeg', 'png', 'webp', 'gif', 'bmp', 'tif', 'tiff', 'avif', 'heic', 'ppm', 'pgm'],
  int: ['cls', 'label', 'index', 'id'],
  json: ['json'],
  text: ['txt', 'text', 'caption', 'class', 'path', 'name'],
  npy: ['npy'],
}

/** What a column holds by its name, or by the last part of it: `mask.png` is an image. Otherwise bytes. */
export function kindOf(column: string): Kind {
  const extension = column.slice(column.lastIndexOf('.') + 1)
  const found = Object.entries(EXTENSIONS).find(([, names]) => names.includes(extension))
  return (found?.[0] as Kind | undefined) ?? 'bytes'
}

/** What a column holds by the type that its source tells. Whether bytes are pictures is told by the name, or by the type. */
export function kindOfType(column: string, type: string): Kind {
  const [word] = /^[a-z]+/.exec(type) ?? ['']
  if (TYPES.image.includes(word)) return 'image'
  if (TYPES.text.includes(word)) return 'text'
  if (TYPES.bytes.includes(word)) return kindOf(column) === 'image' ? 'image' : 'bytes'
  return word === 'json' ? 'json' : 'bytes'
}

const TYPES = {
  image: ['jpeg', 'jpg', 'png', 'image'],
  text: ['text', 'utf', 'str', 'string'],
  bytes: ['bytes', 'binary', 'large', 'fixed', 'opaque'],
}

const CHECKS: Record<Exclude<Kind, 'class'>, Check> = {
  image: (value, work) => decodePicture(value, 3, work),
  mask: (value, work) => decodePicture(value, 1, work),
  boxes: decodeBoxes,
  points: decodePoints,
  int: value => (isTiled(value) ? checkSingle(value) : decodeInt(value)),
  float: value => (isTiled(value) ? checkSingle(value) : decodeFloat(value)),
  // Each of its columns by itself.
  vector: value => (isTiled(value) ? checkSingle(value) : decodeFloat(value)),
  text: decodeText,
  json: decodeJson,
  bytes: () => undefined,
  npy: value => (isTiled(value) ? undefined : decodeNpy(raw(value))),
}

export function checkFor({ kind, classes = [], limit, guessed }: Expectation): Check {
  const table = classTable(classes)
  const check: Check = kind === 'class' ? value => decodeClass(value, table) : CHECKS[kind]
  return (value, work) => {
    // What a run would read straight into the batch needs no decoding.
    if (guessed ? !(value instanceof Uint8Array) : isTiled(value) && !isRead(value)) return
    if (limit !== undefined) checkLimit(limit, value)
    return check(value, work)
  }
}

/** A number may come as an array of one element, as in a run. */
function checkSingle({ shape }: TiledArray): void {
  if (countOf(shape) !== 1) throw new DecodeError(`is an array [${shape.join(', ')}], not a single number`)
}

function decodePicture(value: Column, channels: 1 | 3, work: Workspace): void {
  if (isTiled(value)) return // pixels, which need no decoding
  const bytes = raw(value)
  decodeImage(bytes, imageInfo(bytes), { channels }, work)
}

function raw(value: Column): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.from(String(value))
}
