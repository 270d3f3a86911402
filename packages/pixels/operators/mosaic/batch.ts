/** Mosaic over a closed slot: the image and all fields that follow it. */

import { DTYPES, type Dtype, elements } from '../../../core/basics/dtype.js'
import { DefinitionError } from '../../../core/basics/errors.js'
import { fillWith, padBytes } from '../../../core/batch/close.js'
import type { FieldPlace } from '../../../core/batch/layout.js'
import { Header, type Slot } from '../../../core/batch/slot.js'
import { layoutOf } from '../../../core/define/layout.js'
import type { BatchEffect } from '../../../core/define/operator.js'
import type { NormalField } from '../../../core/define/types.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { mosaicWords, pictureOf, writeMix } from '../../transform/device/parameter-row.js'
import { pickImage } from '../mix/batch.js'
import type { Size } from '../step.js'
import {
  boxInPart,
  chooseMosaic,
  MOSAIC_ROWS,
  type Mosaic,
  mosaicRows,
  partsOf,
  pointInPart,
  rowBefore,
} from './mosaic.js'

/** Elements in which boxes and points are moved. */
const MOVED: readonly Dtype[] = ['f32', 'f64', 'i32']

export const putTogether: BatchEffect = {
  bind({ params }, fields, path) {
    const field = pickImage(params.field as string, fields, path)
    if (fields[field].follow !== undefined)
      throw new DefinitionError(path, `"${field}" follows "${fields[field].follow}": name that one`)
    for (const follower of Object.keys(fields)) {
      if (fields[follower].follow !== field) continue
      const { dtype, form, max } = layoutOf(follower, fields)
      if (form === 'dense') continue
      if (!MOVED.includes(dtype))
        throw new DefinitionError(path, `"${follower}" must be of ${MOVED.join(', ')}, and is ${dtype}`)
      if (max! < MOSAIC_ROWS)
        throw new DefinitionError(path, `"${follower}" needs a max of ${MOSAIC_ROWS} or more, and has ${max}`)
    }
    return { ...params, field }
  },
  /** What follows has room for four samples in a row. */
  layout: (layout, { params }, follow) =>
    params.field === follow && layout.max !== undefined
      ? { ...layout, each: Math.floor(layout.max / MOSAIC_ROWS) }
      : layout,
  run(op, { feed, layout, slot, work, random }) {
    const leader = op.params.field as string
    const size = sizeOf(layout.fields.find(({ name }) => name === leader)!)
    const mosaic = chooseMosaic(op, size, random)
    if (mosaic === undefined) return undefined
    for (const [index, field] of feed.fields.entries()) {
      if (field.name !== leader && field.follow !== leader) continue
      work.reset()
      const place = layout.fields[index]
      if (place.form === 'dense') mosaicPictures(mosaic, place, size, slot, work)
      else {
        const problem = mosaicThings(mosaic, field, size, { place, index, slot, work })
        if (problem !== undefined) return problem
      }
    }
    return undefined
  },
}

function sizeOf(place: FieldPlace): Size {
  const { layout = 'chw', shape } = place.device === undefined ? place : pictureOf(place)
  const [height, width] = layout === 'chw' ? shape.slice(1) : shape
  return { width, height }
}

/** Pictures and masks. Those that are finished on the device are put together there: here it is only noted how. */
function mosaicPictures(mosaic: Mosaic, place: FieldPlace, size: Size, slot: Slot, work: Workspace): void {
  const count = slot.words[Header.Count]
  const at = slot.at + place.at
  if (place.device !== undefined) {
    writeMix(work.memory, at, place.unitBytes, count, mosaicWords(mosaic))
    return
  }
  const { bytes } = DTYPES[place.dtype]
  const channels = elements(place.shape) / (size.width * size.height)
  const [planes, pixelBytes] = place.layout === 'chw' ? [channels, bytes] : [1, bytes * channels]
  const spareAt = work.take((MOSAIC_ROWS - 1) * place.unitBytes)
  const rows = { memory: work.memory, count, at, rowBytes: place.unitBytes, spareAt }
  mosaicRows(mosaic, { ...rows, ...size, planes, pixelBytes })
}

type Numbers = Float64Array | Float32Array | Int32Array

/** A field of boxes or points, as it lies in a closed slot. */
interface Things {
  place: FieldPlace
  /** Its number in the layout. */
  index: number
  slot: Slot
  work: Workspace
}

/** Boxes and points: those of the four pictures, cut where their parts end. */
function mosaicThings(mosaic: Mosaic, field: NormalField, size: Size, things: Things): string | undefined {
  const { place, slot } = things
  const count = slot.words[Header.Count]
  const columns = place.shape[0]
  const rows = rowsOf(things)
  const moved: Numbers[][] = []
  for (let row = 0; row < count; row++) {
    const parts = partsOf(mosaic, row, size)
    if (parts === undefined) {
      moved.push([rows[row]])
      continue
    }
    const kept: Numbers[] = []
    for (const part of parts) {
      const of = rows[rowBefore(row, part.back, count)]
      for (let i = 0; i < of.length; i += columns) {
        const thing = of.slice(i, i + columns)
        const stays = field.as === 'boxes' ? boxInPart(thing, part, field.minArea) : pointInPart(thing, part)
        if (stays) kept.push(thing)
      }
    }
    moved.push(kept)
  }
  return place.form === 'padded' ? writePadded(things, moved) : writeRagged(things, moved)
}

/** The numbers of each row, copied. */
function rowsOf({ place, index, slot, work }: Things): Numbers[] {
  const values = slot.at + place.at
  const columns = place.shape[0]
  const View = DTYPES[place.dtype].array as unknown as Float64ArrayConstructor
  const lengths = slot.column(place.lengthAt)
  const offsets = place.form === 'padded' ? undefined : slot.column(place.offsetsAt, slot.layout.rows + 1)
  const rows: Numbers[] = []
  for (let row = 0; row < slot.words[Header.Count]; row++) {
    const first = offsets === undefined ? row * slot.words[Header.Cursor + index] : offsets[row]
    const length = offsets === undefined ? lengths[row] : offsets[row + 1] - offsets[row]
    const at = values + first * place.unitBytes
    rows.push(new View(work.memory.buffer as ArrayBuffer, at, length * columns).slice())
  }
  return rows
}

/** How many things each row has. */
function lengthsOf({ place }: Things, rows: readonly Numbers[][]): number[] {
  return rows.map(row => row.reduce((sum, thing) => sum + thing.length, 0) / place.shape[0])
}

/** One row behind the other. Returns what is wrong where they don't all fit. */
function writeRagged(things: Things, rows: readonly Numbers[][]): string | undefined {
  const { place, index, slot } = things
  const lengths = lengthsOf(things, rows)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  if (total * place.unitBytes > place.bytes) {
    return (
      `field "${place.name}" needs ${total} elements in this batch, but its "total" is ` +
      `${place.bytes / place.unitBytes}: raise ragged.total of the field`
    )
  }
  const offsets = slot.column(place.offsetsAt, slot.layout.rows + 1)
  let next = 0
  for (const [row, numbers] of rows.entries()) {
    offsets[row] = next
    put(things, numbers, next)
    next += lengths[row]
  }
  offsets[rows.length] = next
  slot.words[Header.Cursor + index] = next
  return undefined
}

/** Each row filled up to the length that all have in common. */
function writePadded(things: Things, rows: readonly Numbers[][]): undefined {
  const { place, index, slot, work } = things
  const lengths = lengthsOf(things, rows)
  const { multiple = 1, max } = place
  const longest = Math.max(0, ...lengths)
  const common = place.to === 'longest' ? Math.min(max!, Math.ceil(longest / multiple) * multiple) : max!
  const column = slot.column(place.lengthAt)
  const pad = padBytes(place)
  for (const [row, numbers] of rows.entries()) {
    const end = put(things, numbers, row * common)
    fillWith(work.u8, end, slot.at + place.at + (row + 1) * common * place.unitBytes, pad)
    column[row] = lengths[row]
  }
  slot.words[Header.Cursor + index] = common
}

/** Writes the things of a row from the field's element `first` on. Returns the byte behind the last. */
function put({ place, slot, work }: Things, numbers: readonly Numbers[], first: number): number {
  let at = slot.at + place.at + first * place.unitBytes
  for (const thing of numbers) {
    work.u8.set(new Uint8Array(thing.buffer, thing.byteOffset, thing.byteLength), at)
    at += thing.byteLength
  }
  return at
}
