/**
 * Arrays that are decompressed on the device: the maker leaves the compressed bytes in the slot, behind a head that says
 * what they are. What the device can't take (a .npy file, several frames, more bytes than the row has room for) is
 * decompressed here and goes as finished elements: only the CPU says that a sample is bad.
 *
 *   head: 16 words of 32 bits     form · bytes · decompressed bytes · bytes of checksum · 0 …
 *   then  the stream, or the elements; behind a stream the checksum that came with it
 */
import { DTYPES, elements } from '../../../core/basics/dtype.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { DeviceCompressed, SlotField } from '../../../core/define/making.js'
import type { FieldLayout, NormalFeed, NormalField } from '../../../core/define/types.js'
import type { DenseProgram, RowContext } from '../../../core/engine/make/program.js'
import { copyInto } from '../../../core/system/memory/copy.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import { compileArray } from '../plain/array-field.js'
import { ArrayForm, HEAD_BYTES, Head } from './array-words.js'
import { DEVICE_CODECS, payloadOf, rewrap } from './compressed.js'

const ALIGN = 64
/**
 * Smaller arrays are not worth it. It also keeps a .npy file of narrower elements from being taken for bare elements of
 * the field's own type by its size alone: its header would have to be half of this.
 */
const LEAST_BYTES = 16384
/** Where outputs may begin; rows lie one behind the other. */
const OUTPUT_ALIGN = 8
/** The largest streams that every version of nvCOMP promises to take. */
const MOST_BYTES = 2 ** 24

/** Why an array is decompressed on the CPU; undefined when it need not be. */
export function arrayStaysOnCpu(field: NormalField, feed: NormalFeed): string | undefined {
  const { as, compression, map, missing, layout } = field
  if (as !== 'npy' || compression === undefined) return 'it is no compressed array'
  if (field.apply.length > 0) return 'it has operators'
  if (layout.form !== 'dense') return 'its rows vary in length'
  if (layout.dtype === 'bf16') return 'elements of bf16 are made from others'
  if (map !== undefined) return 'a function of yours gets it'
  if (missing !== undefined) return 'samples may lack it'
  if (feed.batch.apply.some(op => Object.values(op.params).includes(field.name))) return 'it is mixed'
  const size = sizeOf(layout)
  if (size < LEAST_BYTES) return `it has only ${size} bytes`
  if (size % OUTPUT_ALIGN !== 0) return `its ${size} bytes are no multiple of ${OUTPUT_ALIGN}`
  if (size > MOST_BYTES) return `it has ${size} bytes, more than ${MOST_BYTES}`
  return undefined
}

function sizeOf({ shape, dtype }: { shape: number[]; dtype: FieldLayout['dtype'] }): number {
  return elements(shape) * DTYPES[dtype].bytes
}

/** How such an array lies in the slot. */
export function arrayForDevice({ name, compression, layout }: NormalField): SlotField {
  const { dtype, shape } = layout
  const device: DeviceCompressed = {
    kind: 'compressed',
    codec: DEVICE_CODECS[compression!],
    dtype,
    shape,
    headBytes: HEAD_BYTES,
  }
  const bytes = HEAD_BYTES + Math.ceil(sizeOf(layout) / ALIGN) * ALIGN
  return { name, dtype: 'u8', shape: [bytes], form: 'dense', device }
}

/** The program of such a field. */
export function compileDeviceArray(field: NormalField): DenseProgram {
  const size = sizeOf(field.layout)
  const onCpu = compileArray(field)
  return {
    form: 'dense',
    run(value, at, context) {
      const payload = value instanceof Uint8Array ? payloadOf(field.compression!, value, size) : undefined
      const { stream, checksum } = payload ?? NOTHING
      if (payload === undefined || stream.length + checksum.length > size) {
        onCpu.run(value, at + HEAD_BYTES, context)
        writeHead(context.work, at, ArrayForm.Raw, size, size, 0)
        return
      }
      copyInto(context.work, stream, at + HEAD_BYTES)
      context.work.u8.set(checksum, at + HEAD_BYTES + stream.length)
      writeHead(context.work, at, ArrayForm.Compressed, stream.length, size, checksum.length)
    },
  }
}

const NOTHING = { stream: new Uint8Array(0), checksum: new Uint8Array(0) }

/** Decompresses an array that lies in the slot at `at`: the device refused it. */
export function redoArray(field: NormalField, layout: SlotField, at: number, context: RowContext): void {
  const { work } = context
  const size = sizeOf(field.layout)
  const head = headAt(work, at).slice()
  if (head[Head.Form] !== ArrayForm.Compressed) return
  // The client must not write here, but it could.
  if (head[Head.Bytes] + head[Head.Checksum] > layout.shape[0] - HEAD_BYTES)
    throw new DecodeError('its bytes in the slot were overwritten by the process that read them')
  const start = at + HEAD_BYTES
  const end = start + head[Head.Bytes]
  const stream = work.u8.slice(start, end)
  const checksum = work.u8.slice(end, end + head[Head.Checksum])
  compileArray(field).run(rewrap(field.compression!, { stream, checksum }), start, context)
  writeHead(work, at, ArrayForm.Raw, size, size, 0)
}

function headAt(work: Workspace, at: number): Uint32Array {
  return new Uint32Array(work.u8.buffer, at, HEAD_BYTES / 4)
}

function writeHead(
  work: Workspace,
  at: number,
  form: number,
  bytes: number,
  size: number,
  checksum: number,
): void {
  const head = headAt(work, at).fill(0)
  head[Head.Form] = form
  head[Head.Bytes] = bytes
  head[Head.Size] = size
  head[Head.Checksum] = checksum
}
