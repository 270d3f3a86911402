/** Mosaic over a closed slot: the image and all fields that follow it. */

import { DTYPES, elements } from '../../basics/dtype.js'
import type { Random } from '../../basics/random.js'
import { fillWith, padBytes } from '../../batch/close.js'
import type { FieldPlace } from '../../batch/layout.js'
import { Header, type Slot } from '../../batch/slot.js'
import type { NormalField, NormalOp } from '../../define/types.js'
import type { Workspace } from '../../system/memory/workspace.js'
import { mosaicWords, writeMix } from '../../transform/device/parameter-row.js'
import { pictureOf } from '../../transform/device/picture.js'
import {
  boxInPart,
  chooseMosaic,
  MOSAIC_ROWS,
  type Mosaic,
  mosaicRows,
  partsOf,
  pointInPart,
  rowBefore,
} from '../../transform/mix/mosaic.js'
import type { Size } from '../../transform/steps.js'
import type { Job } from '../plan/job.js'

/** Returns what is wrong with the batch as a whole, if anything. */
export function mosaicSlot(
  op: NormalOp,
  { feed, layout }: Job,
  slot: Slot,
  work: Workspace,
  random: Random,
): string | undefined {
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
      const problem = mosaicThings(mosaic, field, index, size, slot, work)
      if (problem !== undefined) return problem
    }
  }
  return undefined
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

/** Boxes and points: those of the four pictures, cut where their parts end. */
function mosaicThings(
  mosaic: Mosaic,
  field: NormalField,
  index: number,
  size: Size,
  slot: Slot,
  work: Workspace,
): string | undefined {
  const place = slot.layout.fields[index]
  const count = slot.words[Header.Count]
  const columns = place.shape[0]
  const rows = rowsOf(place, index, slot, work)
  const moved: Numbers[][] = []
  for (let row = 0; row < count; row++) {
    const parts = partsOf(mosaic, row, size)
    if (parts === undefined) {
      moved.push([rows[row]])
      continue
    }
    const things: Numbers[] = []
    for (const part of parts) {
      const of = rows[rowBefore(row, part.back, count)]
      for (let i = 0; i < of.length; i += columns) {
        const thing = of.slice(i, i + columns)
        const stays = field.as === 'boxes' ? boxInPart(thing, part, field.minArea) : pointInPart(thing, part)
        if (stays) things.push(thing)
      }
    }
    moved.push(things)
  }
  const lengths = moved.map(things => things.reduce((sum, thing) => sum + thing.length, 0) / columns)
  return place.form === 'padded'
    ? writePadded(place, index, moved, lengths, slot, work)
    : writeRagged(place, index, moved, lengths, slot, work)
}

/** The numbers of each row, copied. */
function rowsOf(place: FieldPlace, index: number, slot: Slot, work: Workspace): Numbers[] {
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

function writeRagged(
  place: FieldPlace,
  index: number,
  rows: Numbers[][],
  lengths: number[],
  slot: Slot,
  work: Workspace,
): string | undefined {
  const total = lengths.reduce((sum, length) => sum + length, 0)
  if (total * place.unitBytes > place.bytes) {
    return (
      `field "${place.name}" needs ${total} elements in this batch, but its "total" is ` +
      `${place.bytes / place.unitBytes}: raise ragged.total of the field`
    )
  }
  const offsets = slot.column(place.offsetsAt, slot.layout.rows + 1)
  let next = 0
  for (const [row, things] of rows.entries()) {
    offsets[row] = next
    put(things, slot.at + place.at + next * place.unitBytes, work)
    next += lengths[row]
  }
  offsets[rows.length] = next
  slot.words[Header.Cursor + index] = next
  return undefined
}

function writePadded(
  place: FieldPlace,
  index: number,
  rows: Numbers[][],
  lengths: number[],
  slot: Slot,
  work: Workspace,
): undefined {
  const { multiple = 1, max } = place
  const longest = Math.max(0, ...lengths)
  const common = place.to === 'longest' ? Math.min(max!, Math.ceil(longest / multiple) * multiple) : max!
  const column = slot.column(place.lengthAt)
  const pad = padBytes(place)
  for (const [row, things] of rows.entries()) {
    const at = slot.at + place.at + row * common * place.unitBytes
    put(things, at, work)
    fillWith(work.u8, at + lengths[row] * place.unitBytes, at + common * place.unitBytes, pad)
    column[row] = lengths[row]
  }
  slot.words[Header.Cursor + index] = common
}

function put(things: readonly Numbers[], at: number, work: Workspace): void {
  for (const thing of things) {
    work.u8.set(new Uint8Array(thing.buffer, thing.byteOffset, thing.byteLength), at)
    at += thing.byteLength
  }
}
