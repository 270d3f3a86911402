/** What a dataset's bytes are to a sample: numbers, arrays, texts; of a compound, a column a member. */
import { READERS } from '../../core/basics/element.js'
import type { ArrayColumn, Column } from '../../core/source/source.js'
import type { ByteRange } from '../../core/store/store.js'
import type { ElementType, FixedType, NumberType } from './structure/datatype.js'

/** A column of a dataset: the dataset itself, or a member of its compound. */
export interface Member {
  /** `x`, or `x.weight`. */
  column: string
  type: Exclude<ElementType, { is: 'compound' | 'refused' }>
  /** Its first byte in an element. */
  offset: number
  /** Bytes from one element to the next along each axis of the arrays in which compounds lie: those of the compounds. */
  outer: { dims: number[]; stride: number }[]
}

/** The columns of a dataset; members that can't be read, with the reason. */
export function membersOf(
  name: string,
  type: ElementType,
): { members: Member[]; refused: { column: string; why: string }[] } {
  const members: Member[] = []
  const refused: { column: string; why: string }[] = []
  const visit = (column: string, type: ElementType, offset: number, outer: Member['outer']): void => {
    if (type.is === 'compound') {
      const inside = [...outer, { dims: type.dims, stride: type.bytes }]
      for (const member of type.members)
        visit(`${column}.${member.name}`, member.type, offset + member.offset, inside)
      return
    }
    if (type.is === 'refused') refused.push({ column, why: type.why })
    else if (type.is === 'varying' && outer.length > 0)
      refused.push({ column, why: 'values of varying length in a compound are not read' })
    else members.push({ column, type, offset, outer })
  }
  visit(name, type, 0, [])
  return { members, refused }
}

/**
 * How a member's values stand in the bytes of a row: the shape of the row's own axes, and of the arrays in its elements; strides
 * where it shares its elements with other members.
 */
export interface Form {
  member: Member
  shape: number[]
  strides: number[] | undefined
  bytes: number
}

/** `dims`: the axes of the dataset that a value has. */
export function formOf(member: Member, dims: readonly number[], element: number): Form {
  const { type, outer } = member
  const axes: { n: number; stride: number }[] = []
  const add = (sides: readonly number[], stride: number): void => {
    const own = sides.map(n => ({ n, stride: 0 }))
    let step = stride
    for (let i = own.length - 1; i >= 0; i--) {
      own[i].stride = step
      step *= own[i].n
    }
    axes.push(...own)
  }
  add(dims, element)
  for (const { dims: sides, stride } of outer) add(sides, stride)
  add(type.dims, type.bytes)
  const shape = axes.map(({ n }) => n)
  return {
    member,
    shape,
    strides: outer.length === 0 ? undefined : axes.map(({ stride }) => stride),
    bytes: type.bytes,
  }
}

/** One element, turned to little-endian. */
const turned = new DataView(new ArrayBuffer(8))

/** The number that stands at a place. */
export function scalarOf(
  { dtype, bigEndian }: NumberType,
  data: Uint8Array,
  at: number,
  bytes: number,
): number | bigint {
  const order = bigEndian ? bytes - 1 : 0
  for (let i = 0; i < bytes; i++) turned.setUint8(i, data[at + Math.abs(order - i)])
  return READERS[dtype](turned, 0)
}

/** The value of bytes that begin with the row's (or the dataset's) first element. */
export function columnOf(form: Form, data: Uint8Array): Column {
  const { member, shape, strides, bytes } = form
  const { type, offset } = member
  if (type.is === 'number') {
    if (shape.length === 0) return scalarOf(type, data, offset, bytes)
    return arrayOf(type, shape, strides, data.subarray(offset))
  }
  if (type.is === 'varying') return data
  return trimmed(type, data.subarray(offset, offset + (areLetters(form) ? shape[0] : bytes)))
}

/**
 * Whether a value is a text of single letters: netCDF's type char. A text of one byte that ends with a NUL would have no letter, so
 * that no other program writes it.
 */
function areLetters({ member: { type }, shape, strides }: Form): boolean {
  const letter = type.is === 'text' && type.bytes === 1 && type.pad === 'nul'
  return letter && shape.length === 1 && strides === undefined
}

/** The same for a large array that is not read yet. */
export function unreadOf({ member, shape }: Form, data: ByteRange): ArrayColumn {
  return arrayOf(member.type as NumberType, shape, undefined, data)
}

function arrayOf(
  { dtype, bigEndian }: NumberType,
  shape: readonly number[],
  strides: readonly number[] | undefined,
  data: Uint8Array | ByteRange,
): ArrayColumn {
  const tile = { data, ...(strides !== undefined && { strides }), ...(bigEndian && { bigEndian }) }
  return { dtype, shape, tiles: [tile] }
}

/** A value of varying length: texts and bytes as they are, other numbers as an array. */
export function varyingOf({ member: { type } }: Form, data: Uint8Array): Column {
  if (type.is !== 'varying' || type.of === 'text' || type.of.bytes === 1) return data
  return arrayOf(type.of, [data.length / type.of.bytes], undefined, data)
}

/** A text of a fixed size without what fills it up. */
function trimmed({ pad }: FixedType, bytes: Uint8Array): Uint8Array {
  if (pad === 'none') return bytes
  let end = bytes.length
  if (pad === 'nul') {
    const nul = bytes.indexOf(0)
    if (nul >= 0) end = nul
  } else {
    const filler = pad === 'blanks' ? 0x20 : 0
    while (end > 0 && bytes[end - 1] === filler) end--
  }
  return bytes.subarray(0, end)
}

/** Why a member can't be a column with these axes; undefined where it can. */
export function refusedForm(form: Form): string | undefined {
  const { type } = form.member
  if (type.is === 'number' || form.shape.every(n => n === 1) || areLetters(form)) return undefined
  const count = form.shape.join(' × ')
  const what = type.is === 'varying' ? 'values of varying length' : 'texts'
  return `it has ${count} ${what} in a sample: store one in each`
}

/** A type in words. */
export function typeText(type: ElementType): string {
  const dims = type.dims.length === 0 ? '' : ` [${type.dims.join(', ')}]`
  switch (type.is) {
    case 'number':
      return `${type.dtype}${type.bigEndian ? ' big-endian' : ''}${dims}`
    case 'varying':
      return type.of === 'text' ? 'text' : `list<${type.of.dtype}>`
    case 'compound':
      return `compound of ${type.members.length}${dims}`
    case 'refused':
      return 'not read'
    default:
      return `${type.is === 'text' ? 'text' : 'bytes'} of ${type.bytes}${dims}`
  }
}
