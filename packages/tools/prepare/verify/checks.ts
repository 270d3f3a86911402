/** Whether the bytes of a column are what they should be: decoded in full, by the decoders that a run uses. */

import { isRead, isTiled } from '../../../core/basics/array.js'
import { allDecoders, decoderOf } from '../../../core/define/kind.js'
import { checkLimit, type Limit } from '../../../core/define/limits.js'
import type { Kind } from '../../../core/define/types.js'
import type { Column } from '../../../core/source/source.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'

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

/** What a column holds by its name, or by the last part of it: `mask.png` is an image. Otherwise bytes. */
export function kindOf(column: string): Kind {
  const extension = column.slice(column.lastIndexOf('.') + 1)
  return allDecoders().find(({ rules }) => rules.traits?.columns?.includes(extension))?.name ?? 'bytes'
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

export function checkFor({ kind, classes = [], limit, guessed }: Expectation): Check {
  const check = decoderOf({ as: kind }).verify?.(classes)
  return (value, work) => {
    // What a run would read straight into the batch needs no decoding.
    if (guessed ? !(value instanceof Uint8Array) : isTiled(value) && !isRead(value)) return
    if (limit !== undefined) checkLimit(limit, value)
    return check?.(value, work)
  }
}
