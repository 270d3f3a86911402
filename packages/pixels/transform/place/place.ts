/**
 * Puts a picture, or a box of it, in its place: resized, mirrored, in the field's dtype and layout, in one call
 * of the `place` kernel. This file turns the wish into the kernel's job; `packages/pixels/test/transform/twins/place.ts` is the plain version.
 */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from '../../decode/picture/picture.js'
import type { Filter } from '../../operators/step.js'
import { kernel } from '../kernels/load.js'
import { ACROSS, acrossTable, DOWN, downTable, type Scaling } from './axis.js'
import type { Values } from './values.js'

/** The size that the box becomes, and how; with a `window`, only that part of the result is made. */
export interface Sizing {
  width: number
  height: number
  filter: Filter
  antialias: boolean
  window?: Box | undefined
}

export interface Flips {
  horizontal: boolean
  vertical: boolean
}

/** Where the pixels go. Its own size may be greater than the picture's: the rest is left as it is. */
export interface Target {
  /** Byte offset of the first element. */
  at: number
  layout: 'chw' | 'hwc'
  values: Values
  /** Elements of a row and rows of a plane: those of the slot, not of the picture. */
  width: number
  height: number
}

interface PlaceKernel {
  place(job: number): void
}

const SPARE = 16 // bytes that stores of whole groups may reach beyond a row

/**
 * Resizes `box` of `source` and writes it to `target`. The source must have been taken from `work`, so that what
 * is taken here lies behind it: kernels read up to 16 bytes beyond its last row.
 */
export function placePicture(
  work: Workspace,
  source: Picture,
  box: Box,
  size: Sizing,
  flips: Flips,
  target: Target,
): void {
  const { channels } = source
  const { values } = target
  const planar = target.layout === 'chw' && channels === 3
  const pixel = planar ? 1 : channels
  const [x, y] = scalings(box, size)
  const across = acrossTable(x, { flip: flips.horizontal, channels, planar })
  const down = downTable(y)
  const mark = work.mark()
  const { plane, ring, ringStep, ringRows, scratch, pointers } = takeRoom(
    work,
    { count: x.count, channels, planar },
    across,
    down,
  )
  const acrossAt = put(work, across.bytes)
  const downAt = put(work, down.bytes)
  const emitAt = put(work, values.constants)

  // The job, word by word, in the order of the kernel's `Word`.
  const words = [
    // The box: its first byte, bytes from row to row, channels. Then the size of the output.
    source.at + box.y * source.stride + box.x * channels,
    source.stride,
    channels,
    x.count,
    y.count,
    // Along x and along y: mode, table, weights for each output in it, their fractional bits.
    across.mode,
    acrossAt,
    across.taps,
    across.shift,
    down.mode,
    downAt,
    down.taps,
    down.shift,
    // The room to work in.
    ring,
    ringStep,
    ringRows,
    plane,
    scratch,
    pointers,
    // The slot: first byte, bytes from row to row and from plane to plane; upside down?
    target.at,
    target.width * pixel * values.entry,
    target.width * target.height * values.entry,
    flips.vertical ? 1 : 0,
    // Values: mode, table or constants, bytes of an element.
    values.emit,
    emitAt,
    values.entry,
  ]
  const job = work.take(words.length * 4)
  new Int32Array(work.u8.buffer, job, words.length).set(words)
  kernel<PlaceKernel>('place', work.memory).place(job)
  work.release(mark)
}

/** Room that the kernel works in: offsets in the workspace, and bytes. */
interface Room {
  /** Rows that were resized along x and are still to be blended: where, bytes of one, how many. */
  ring: number
  ringStep: number
  ringRows: number
  /** Bytes of a plane of one such row; 0 when channels are interleaved. */
  plane: number
  /** A blended row, and pointers to the rows that are being blended. */
  scratch: number
  pointers: number
}

function takeRoom(
  work: Workspace,
  { count, channels, planar }: { count: number; channels: number; planar: boolean },
  across: { mode: number },
  down: { mode: number; taps: number },
): Room {
  const plane = planar ? roundUp(count, 16) : 0
  const rowBytes = planar ? plane * 3 : roundUp(count, 4) * channels
  const ringStep = roundUp(rowBytes + SPARE, 64)
  const ringRows = down.mode === DOWN.pick ? 1 : down.taps
  const ring = across.mode === ACROSS.keep ? 0 : work.take(ringRows * ringStep)
  const scratch = work.take(ringStep)
  const pointers = work.take(Math.max(SPARE, down.taps * 4))
  return { plane, ring, ringStep, ringRows, scratch, pointers }
}

/** What happens to a box along x and along y. */
export function scalings(box: Box, size: Sizing): [x: Scaling, y: Scaling] {
  const { filter, antialias, window } = size
  const along = (input: number, output: number, from = 0, count = output): Scaling => {
    return { input, output, from, count, filter, antialias }
  }
  return [
    along(box.width, size.width, window?.x, window?.width),
    along(box.height, size.height, window?.y, window?.height),
  ]
}

function put(work: Workspace, bytes: Uint8Array): number {
  const at = work.take(bytes.length)
  work.u8.set(bytes, at)
  return at
}

function roundUp(n: number, multiple: number): number {
  return Math.ceil(n / multiple) * multiple
}
