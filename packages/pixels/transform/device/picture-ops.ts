/**
 * From steps to the ops of a parameter row: crop, resize and flip are gathered into one `place`, as the canvas gathers
 * them on the CPU.
 */
import { MAX_PIXELS } from '../../decode/picture/image.js'
import type { Size } from '../../operators/step.js'
import { factsOf, PLACE, type Step, sizeAfter } from '../../operators/steps.js'
import { Placement } from '../picture/placement.js'
import type { Sizing } from '../place/place.js'
import { isWeighted, mostTaps } from '../place/weights.js'
import type { Op, RowWriter } from './parameter-row.js'
import { FILTER_CODES, Word } from './parameter-words.js'

/** What will be done, and the memory that it takes on the device. */
export interface PictureOps {
  ops: Op[]
  width: number
  height: number
  /** Bytes of the largest picture on the way, and of the largest tables of weights. */
  pictureBytes: number
  tableBytes: number
  /** Most lines of which a line is made. */
  taps: number
}

/** The kernel has room for so many lines, two pixels wide (ROOM in kernels/cuda/picture.cuh). */
const MOST_TAPS = 4096

/** Bytes of a picture on the way, or of tables: as many as the largest that is decoded has. Offsets have 31 bits there. */
const MOST_BYTES = 3 * MAX_PIXELS

/** Whether the device can do it; what it can't, such as a line of pixels that is enlarged, is left to the CPU. */
export function suitsDevice({ taps, pictureBytes, tableBytes }: PictureOps): boolean {
  return taps <= MOST_TAPS && Math.max(pictureBytes, tableBytes) <= MOST_BYTES
}

/** The ops that carry out `steps` on a picture of this size. Normalize and erase are not among them. */
export function pictureOps(steps: readonly Step[], width: number, height: number): PictureOps {
  const gatherer = new Gatherer(width, height)
  for (const step of steps) {
    if (step.do !== 'normalize' && step.do !== 'erase') gatherer.apply(step)
  }
  return gatherer.end()
}

/** A picture's parameter row: what its bytes are, and what will be done to them. */
export interface PictureRow {
  /** One of `Form`. */
  form: number
  /** Of a JPEG: how its chroma is sampled. */
  sampling?: number | undefined
  bytes: number
  /** Size as decoded, and how it must be turned to be upright. */
  stored: { width: number; height: number; orientation: number }
  plan: PictureOps
  /** Those that are done at the end are taken from here. */
  steps: readonly Step[]
}

/** Writes a row that begins at byte `at`, without mixes. Returns the number of its ops. */
export function writePictureRow(
  writer: RowWriter,
  memory: WebAssembly.Memory,
  at: number,
  { form, sampling = 0, bytes, stored, plan, steps }: PictureRow,
): number {
  let ops = 0
  for (const op of plan.ops) writer.op(memory, at, ops++, op)
  for (const step of steps) if (step.do === 'erase') writer.op(memory, at, ops++, opOf(step, plan))
  const words = writer.header(memory, at).fill(0)
  words[Word.Form] = form
  words[Word.Bytes] = bytes
  words[Word.StoredWidth] = stored.width
  words[Word.StoredHeight] = stored.height
  words[Word.Orientation] = stored.orientation
  words[Word.Ops] = ops
  words[Word.PictureBytes] = plan.pictureBytes
  words[Word.Width] = plan.width
  words[Word.Height] = plan.height
  words[Word.TableBytes] = plan.tableBytes
  words[Word.Sampling] = sampling
  const crop = steps.find(step => step.do === 'crop' && step.centred)
  if (crop?.do === 'crop') words.set([crop.x, crop.y, crop.width, crop.height], Word.Crop)
  return ops
}

function opOf(step: Step, size: Size): Op {
  const { code = 0, args } = factsOf(step)
  return { code, args: args?.(step, size) ?? [] }
}

/** Most ops that steps can become: one each, and a `place` before each that is not gathered, and at the end. */
export function mostOps(steps: number): number {
  return 2 * steps + 1
}

class Gatherer {
  private readonly ops: Op[] = []
  private pictureBytes = 0
  private tableBytes = 0
  private taps = 0
  private placement: Placement

  constructor(
    /** Size of the picture that the last op leaves. */
    private pictureWidth: number,
    private pictureHeight: number,
  ) {
    this.placement = new Placement(pictureWidth, pictureHeight)
  }

  private get width(): number {
    return this.placement.width
  }
  private get height(): number {
    return this.placement.height
  }

  apply(step: Step): void {
    if (this.placement.gather(step)) return
    this.settle()
    if (step.do === 'resize') {
      this.placement.resize(step)
      return
    }
    const { width, height } = this
    const tables = factsOf(step).tableBytes?.({ width, height }) ?? 0
    this.tableBytes = Math.max(this.tableBytes, tables)
    const after = sizeAfter(step, { width, height })
    this.become(opOf(step, { width, height }), after.width, after.height)
  }

  end(): PictureOps {
    // A place at the end goes straight into the finished row: the kernel needs no room for its picture.
    const { pictureBytes } = this
    this.settle()
    const { ops, tableBytes, taps, width, height } = this
    return { ops, width, height, pictureBytes, tableBytes, taps }
  }

  /** Makes a `place` of what is gathered, if there is anything. */
  private settle(): void {
    const { box, size, flips, mirrored } = this.placement
    const whole = box.width === this.pictureWidth && box.height === this.pictureHeight
    if (whole && size === undefined && !mirrored) return
    const to = size ?? { width: box.width, height: box.height, filter: 'nearest' as const, antialias: false }
    const window = size?.window ?? { x: 0, y: 0, width: to.width, height: to.height }
    const mirror = (flips.horizontal ? 1 : 0) | (flips.vertical ? 2 : 0)
    const args = [
      ...[box.x, box.y, box.width, box.height],
      ...[to.width, to.height],
      ...[window.x, window.y, window.width, window.height],
      ...[FILTER_CODES[to.filter], to.antialias ? 1 : 0, mirror],
    ]
    if (to.width !== box.width || to.height !== box.height) {
      const x = tableBytes(box.width, to.width, window.width, to)
      const y = tableBytes(box.height, to.height, window.height, to)
      this.tableBytes = Math.max(this.tableBytes, x + y)
      this.taps = Math.max(this.taps, tapsOf(box.height, to.height, to))
    }
    this.become({ code: PLACE, args }, window.width, window.height)
  }

  private become(op: Op, width: number, height: number): void {
    this.ops.push(op)
    this.pictureWidth = width
    this.pictureHeight = height
    this.pictureBytes = Math.max(this.pictureBytes, width * height * 3)
    this.placement = new Placement(width, height)
  }
}

/**
 * Bytes of an axis' tables, each aligned to 16: first and count together, then pairs of weights (32 bits each), of `made`
 * outputs, and the exact weights (64 bits each) of all.
 */
function tableBytes(input: number, output: number, made: number, sizing: Sizing): number {
  const aligned = (words: number): number => Math.ceil((words * 4) / 16) * 16
  const taps = tapsOf(input, output, sizing)
  if (taps === 0) return 0
  return aligned(made * 2) + aligned(made * Math.ceil(taps / 2)) + aligned(output * taps * 2)
}

/** Most inputs of an output; none where they are picked, not weighed. */
function tapsOf(input: number, output: number, { filter, antialias }: Sizing): number {
  return isWeighted(filter) ? mostTaps(input, output, filter, antialias) : 0
}
