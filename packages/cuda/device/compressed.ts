/**
 * The compressed arrays of a batch, on one lane: streams are brought to the device and decompressed there by nvCOMP,
 * straight into the finished rows; what the CPU has decompressed is copied. Waits for nvCOMP's word on each stream.
 */

import { EngineError } from '../../core/basics/errors.js'
import type { DeviceCompressed } from '../../core/define/making.js'
import type { BadRow } from '../../core/engine/make/cpu-decoder.js'
import { ArrayForm, Head, READ_BEHIND } from '../../pixels/transform/device/array-words.js'
import { DeviceMemory, type DeviceStream, type Gpu, type Lane } from '../driver/index.js'
import { DEVICE_BYTES, LANES, TURN_PARTS } from './facts.js'
import { rowBytes, up } from './plan.js'

/** A compressed field of a batch: where its rows lie on the host, and where the result goes. */
export interface ArrayBatch {
  name: string
  device: DeviceCompressed
  count: number
  /** Host address of row 0, and from one row to the next. */
  from: bigint
  unitBytes: number
  /** The head of a row. */
  head(row: number): Uint32Array
  /** Device address of the finished rows. */
  output: bigint
  /** Has the CPU make refused rows, in the slot. Returns those that it can't make either. */
  redo(rows: readonly number[]): BadRow[]
}

/** Decompressed bytes of one turn. */
const TURN_BYTES = DEVICE_BYTES / LANES / TURN_PARTS

/** Rows that follow each other and are copied together. */
interface Run {
  row: number
  rows: number
}

export class ArrayMaker {
  private readonly streams: DeviceMemory

  constructor(
    gpu: Gpu,
    private readonly lane: Lane,
  ) {
    this.streams = new DeviceMemory(gpu)
  }

  /** Makes a field. Returns the rows that are bad: then nothing of the result is of use. */
  make(batch: ArrayBatch): BadRow[] {
    const packed: number[] = []
    const finished: number[] = []
    for (let row = 0; row < batch.count; row++) {
      // A bad row is nothing but zeros, its head included: it is finished.
      ;(this.formOf(batch, row) === ArrayForm.Compressed ? packed : finished).push(row)
    }
    this.copy(batch, finished)
    const turn = Math.max(1, Math.floor(TURN_BYTES / rowBytes(batch.device)))
    const refused: number[] = []
    for (let i = 0; i < packed.length; i += turn) {
      refused.push(...this.decompress(batch, packed.slice(i, i + turn)))
    }
    if (refused.length === 0) return []
    const bad = batch.redo(refused)
    this.copy(batch, refused)
    return bad
  }

  free(): void {
    this.streams.free()
  }

  private formOf({ name, device, unitBytes, head }: ArrayBatch, row: number): number {
    const words = head(row)
    const [form, bytes, size] = [words[Head.Form], words[Head.Bytes], words[Head.Size]]
    const whole = rowBytes(device)
    const good =
      form === ArrayForm.Nothing ||
      (form === ArrayForm.Raw && bytes === whole) ||
      (form === ArrayForm.Compressed && size === whole && bytes > 0 && bytes <= unitBytes - device.headBytes)
    if (good) return form
    throw new EngineError(
      `field "${name}", row ${row}: its head makes no sense (form ${form}, ${bytes} bytes for ${size}, and a row has ${whole})`,
    )
  }

  private copy(batch: ArrayBatch, rows: readonly number[]): void {
    const width = rowBytes(batch.device)
    for (const run of runsOf(rows)) {
      this.bring(batch, run, { to: batch.output + BigInt(run.row * width), toPitch: width, width })
    }
  }

  /** Neighbours, without their heads, to the device. */
  private bring(
    { device, from, unitBytes }: ArrayBatch,
    { row, rows: height }: Run,
    to: { to: bigint; toPitch: number; width: number },
  ): void {
    const first = from + BigInt(row * unitBytes + device.headBytes)
    this.lane.uploadRows({ ...to, from: first, fromPitch: unitBytes, height })
  }

  private decompress(batch: ArrayBatch, rows: readonly number[]): number[] {
    const { device, output, head } = batch
    const size = rowBytes(device)
    const lengths = rows.map(row => head(row)[Head.Bytes])
    // Neighbours are copied together, each as long as the longest.
    const longest = Math.max(...lengths)
    const pitch = up(longest + READ_BEHIND)
    const base = this.streams.atLeast(rows.length * pitch)
    let done = 0
    for (const run of runsOf(rows)) {
      this.bring(batch, run, { to: base + BigInt(done * pitch), toPitch: pitch, width: longest })
      done += run.rows
    }
    const streams: DeviceStream[] = rows.map((row, i) => ({
      from: base + BigInt(i * pitch),
      bytes: lengths[i],
      to: output + BigInt(row * size),
      size,
    }))
    return this.lane.decompress(device.codec, streams).map(i => rows[i])
  }
}

function runsOf(rows: readonly number[]): Run[] {
  const runs: Run[] = []
  for (const row of rows) {
    const last = runs.at(-1)
    if (last !== undefined && last.row + last.rows === row) last.rows++
    else runs.push({ row, rows: 1 })
  }
  return runs
}
