/**
 * Pictures that are finished on the device: the maker reads the header, chooses the steps exactly as for the CPU, and
 * leaves the picture's bytes with a parameter row in the slot. What the GPU can't decode is decoded here, all steps
 * included, and goes as finished pixels: only the CPU's decoder says that a picture is bad.
 */

import { DecodeError } from '../../../core/basics/errors.js'
import type { BatchFacts } from '../../../core/define/kind.js'
import type { DevicePicture, PictureShare, SlotField } from '../../../core/define/making.js'
import type { NormalFeed, NormalField } from '../../../core/define/types.js'
import type { DenseProgram, RowContext } from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import { mostSteps } from '../../operators/choose.js'
import type { Step } from '../../operators/steps.js'
import { Canvas } from '../picture/canvas.js'
import { bytesOf, checkSize, choosePicture, isOneChannel, type PictureContext } from '../picture/image.js'
import { type OpenedPicture, openPicture, type Uploadable } from '../picture/open-picture.js'
import { compileValues, type Statistics } from '../place/values.js'
import { pictureOf, RowWriter } from './parameter-row.js'
import { Form, HEADER_WORDS, MOST_MIXES, OP_WORDS, Word } from './parameter-words.js'
import {
  mostOps,
  type PictureOps,
  type PictureRow,
  pictureOps,
  suitsDevice,
  writePictureRow,
} from './picture-ops.js'

const ALIGN = 64
/** A row has room for files of this many times the mean size; larger ones are decoded on the CPU. */
const GENEROUS = 4
/** Where the mean is not known. */
const USUAL_BYTES = 65536
/** What the pictures' bytes of one batch may take. */
const MOST_BYTES = 2 ** 29

/** The form in which a finished picture on the CPU's side goes to the device. */
const BYTES = compileValues('u8', 3)

/** Why a picture is made on the CPU although the device could be asked; undefined when it need not be. */
export function staysOnCpu(field: NormalField, feed: NormalFeed): string | undefined {
  if (field.as !== 'image') return `it is no image, but ${field.as}`
  if (isOneChannel(field.layout)) return 'it has one channel'
  if (field.scale !== 1) return 'it is decoded at a fraction of its size ("scale")'
  if (field.follow !== undefined) return `it follows "${field.follow}"`
  if (mixesOf(field, feed) > MOST_MIXES) return `it is mixed by more than ${MOST_MIXES} operators`
  return undefined
}

function mixesOf({ name }: NormalField, feed: NormalFeed): number {
  return feed.batch.apply.filter(op => op.params.field === name).length
}

/** How such a picture lies in the slot: bytes, with room for its parameter row and its file. */
export function pictureForDevice(
  field: NormalField,
  feed: NormalFeed,
  { rows, meanBytes }: BatchFacts,
): SlotField {
  const { dtype, shape, layout = 'chw' } = field.layout
  const [height, width] = layout === 'chw' ? shape.slice(1) : shape
  const normalize = field.apply.find(op => op.name === 'normalize')?.params
  const { lookup } = compileValues(dtype, 3, normalize as unknown as Statistics | undefined)
  const device: DevicePicture = {
    kind: 'picture',
    words: HEADER_WORDS + OP_WORDS * mostOps(mostSteps(field.apply)),
    dtype,
    shape,
    layout,
    width,
    height,
    lookup: Buffer.from(lookup).toString('base64'),
    mixes: mixesOf(field, feed),
  }
  const finished = width * height * 3
  const most = Math.max(finished, Math.floor(MOST_BYTES / rows))
  const room = Math.min(most, Math.max(finished, GENEROUS * (meanBytes ?? USUAL_BYTES)))
  const bytes = Math.ceil((device.words * 4 + room) / ALIGN) * ALIGN
  return { name: field.name, dtype: 'u8', shape: [bytes], form: 'dense', device }
}

/** Pictures are shared out in runs of so many positions: what is decoded here goes to the device in few copies. */
const RUN = 16
const GOLDEN = (Math.sqrt(5) - 1) / 2

/** Whether a picture is among the `share` that is decoded here: by its position alone, and evenly spread. */
function isHere(position: number, share: number): boolean {
  return ((Math.floor(position / RUN) + 1) * GOLDEN) % 1 < share
}

/** The program of such a field, which lies in the slot as `layout` says. `share`: which pictures it decodes itself. */
export function compileDevicePicture(
  field: NormalField,
  layout: SlotField,
  share: PictureShare,
): DenseProgram {
  const device = pictureOf(layout)
  const room = layout.shape[0] - device.words * 4
  const writer = new RowWriter()
  return {
    form: 'dense',
    run(value, at, context) {
      const source = openPicture(bytesOf(value), 3, field)
      const steps = choosePicture(field, source, context)
      const plan = pictureOps(steps, source.width, source.height)
      checkSize(plan.width, plan.height, device)
      const { onDevice } = source
      const row = new Row(writer, at, at + device.words * 4, context)
      const fits = onDevice !== undefined && onDevice.bytes.length <= room && suitsDevice(plan)
      if (fits && isWanted(onDevice, share) && !isHere(context.position, share.cpuShare))
        row.upload(onDevice, plan, steps)
      else row.finish(source, plan, steps)
    },
  }
}

const SPOILT = 'its bytes in the slot were overwritten by the process that read them'

/** Whether the device gets pictures of this kind. */
function isWanted({ sampling }: Uploadable, { samplings }: PictureShare): boolean {
  return sampling === undefined || samplings === undefined || samplings.includes(sampling)
}

/** Decodes a picture that lies in the slot at `at`: the device refused it. How it is mixed stays noted. */
export function redoPicture(field: NormalField, layout: SlotField, at: number, context: RowContext): void {
  const { words } = pictureOf(layout)
  const { work } = context
  const writer = new RowWriter()
  const before = writer.header(work.memory, at).slice()
  // The client must not write here, but it could.
  if (before[Word.Bytes] >>> 0 > layout.shape[0] - words * 4) throw new DecodeError(SPOILT)
  const bytes = work.u8.slice(at + words * 4, at + words * 4 + before[Word.Bytes])
  const [x, y, width, height] = before.subarray(Word.Crop)
  const recalled = width === 0 ? null : ({ do: 'crop', x, y, width, height, centred: true } as const)
  const again: PictureContext = { ...context, recalled }
  compileDevicePicture(field, layout, { cpuShare: 1 }).run(bytes, at, again)
  const after = writer.header(work.memory, at)
  after[Word.Mixes] = before[Word.Mixes]
  after.set(before.subarray(Word.Mix), Word.Mix)
}

/** One row in the slot, being written. */
class Row {
  constructor(
    private readonly writer: RowWriter,
    private readonly at: number,
    /** Where the picture's bytes go. */
    private readonly bytesAt: number,
    private readonly context: RowContext,
  ) {}

  /** As it is, to be decoded on the device. */
  upload(
    { sampling, bytes, width, height, orientation }: Uploadable,
    plan: PictureOps,
    steps: readonly Step[],
  ): void {
    copyInto(this.context.work, bytes, this.bytesAt)
    const stored = { width, height, orientation }
    const form = sampling === undefined ? Form.Pixels : Form.Jpeg
    this.write({ form, sampling, bytes: bytes.length, stored, plan, steps })
  }

  /** Decoded and transformed here; only values and erasing are left to the device. */
  finish(source: OpenedPicture, plan: PictureOps, steps: readonly Step[]): void {
    const { work } = this.context
    const mark = work.mark()
    const canvas = new Canvas(source, work)
    for (const step of steps) if (step.do !== 'normalize' && step.do !== 'erase') canvas.apply(step)
    const { width, height } = plan
    canvas.place({ at: this.bytesAt, layout: 'hwc', values: BYTES, width, height })
    work.release(mark)
    const none = { ops: [], pictureBytes: 0, tableBytes: 0, taps: 0, width, height }
    const stored = { width, height, orientation: 1 }
    this.write({ form: Form.Pixels, bytes: width * height * 3, stored, plan: none, steps })
  }

  private write(row: PictureRow): void {
    writePictureRow(this.writer, this.context.work.memory, this.at, row)
  }
}
