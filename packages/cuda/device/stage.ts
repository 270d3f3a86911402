/**
 * The device stage: takes batches in page-locked slots and leaves them finished on the device. Fields that the CPU has
 * made are copied; pictures are decoded, transformed and mixed there (device/pictures.ts); compressed arrays are
 * decompressed there (device/compressed.ts); what is generated is made there (device/generate.ts).
 *
 *   slot ┬ finished fields ───────copy──────────────────────────────┐
 *        ├ parameter rows ────────copy────────────┐                 ├─► output
 *        └ JPEG bytes ─ decode ─► scratch memory ─┴ picture ─ mix ──┘
 *
 * It runs on two lanes, streams with scratch memory of their own: while one batch is transformed the next is decoded.
 * Nothing here waits for the GPU but decoding, which blocks by nature, and `finishOldest`. The outputs are few, and
 * used again and again; before one is, the GPU waits for what its consumer still does with it.
 */

import type { BadPolicy } from '../../core/batch/close.js'
import type { SlotLayout } from '../../core/batch/layout.js'
import { removeRows } from '../../core/batch/remove-rows.js'
import { CONTROL_BYTES } from '../../core/batch/ring.js'
import { Header, RowStatus, Slot, Stamp } from '../../core/batch/slot.js'
import type { BadRow } from '../../core/engine/make/cpu-decoder.js'
import type { Generator } from '../../core/engine/plan/generate.js'
import { CudaError, type Gpu, type Lane } from '../driver/index.js'
import { ArrayMaker } from './compressed.js'
import { LANES, SCRATCH_PARTS } from './facts.js'
import { type GeneratorMaker, generatorMaker } from './generate.js'
import { PictureMaker } from './pictures.js'
import { headerAt, layoutOutput, type OutputLayout, type OutputPlace, planPictures } from './plan.js'

export interface StageOptions {
  layout: SlotLayout
  /** The memory of the ring, and where it lies in this process. */
  buffer: ArrayBufferLike
  address: bigint
  /** Bytes for decoded pictures, of all lanes together. */
  scratchBytes: number
  /** The stream on which the consumer works; 0n is CUDA's default stream. */
  consumer: bigint
  /** Makes fields out of nothing. */
  generator?: Generator
  /** Has the CPU make rows of a field that the device refused, in the slot. Returns those that it can't make either. */
  redo(slot: Slot, field: string, rows: readonly number[]): BadRow[]
  /** The policy for those. */
  policy: BadPolicy
}

/** A batch that is on the device. */
export interface Finished {
  batch: number
  slot: number
  output: number
  pointer: bigint
  /** Samples that turned out to be bad when the CPU made what the device had refused. */
  bad: BadRow[]
}

interface Output {
  pointer: bigint
  /** Recorded when the consumer is done with it. */
  released: bigint
  /** `released` was recorded at least once. */
  used: boolean
}

interface Line {
  lane: Lane
  pictures: PictureMaker
  arrays: ArrayMaker
  generator: GeneratorMaker | undefined
  done: bigint
  work: { batch: number; slot: number; output: number; bad: BadRow[] } | undefined
  /** Page-locked: the device addresses of decoded pictures, u64 for each field and row. */
  pointers: { address: bigint; bytes: Uint8Array }
}

export class DeviceStage {
  readonly output: OutputLayout
  private readonly lines: Line[]
  /** Most bytes of a row in the slot. */
  private readonly rowBytes: number
  private readonly outputs: Output[] = []
  private readonly free: number[] = []
  private readonly locks: SlotPins
  /** Those at work, the oldest batch first. */
  private busy: Line[] = []

  constructor(
    private readonly gpu: Gpu,
    private readonly options: StageOptions,
  ) {
    this.output = layoutOutput(options.layout)
    this.rowBytes = options.layout.fields.reduce((sum, { bytes }) => sum + bytes, 0) / options.layout.rows
    this.locks = new SlotPins(gpu, options.layout.bytes, slot => options.address + BigInt(this.slotAt(slot)))
    // A short burst on all of the GPU costs a trainer less than a long stay on a part of it: its own kernels are made
    // for all of it, and end when the last of their blocks does. Two blocks fit on each multiprocessor: while one waits
    // for its memory, the other goes on.
    const blocks = 2 * gpu.facts.multiprocessors
    this.lines = Array.from({ length: LANES }, () => {
      const lane = gpu.lane()
      const pictures = new PictureMaker(gpu, lane, blocks, options.scratchBytes / SCRATCH_PARTS)
      const pointers = gpu.allocateHost(Math.max(1, this.output.places.length) * options.layout.rows * 8)
      const { generator: made, layout } = options
      const generator = made && generatorMaker(gpu, lane, made, layout.rows, blocks)
      const arrays = new ArrayMaker(gpu, lane)
      return { lane, pictures, arrays, generator, done: gpu.event(), work: undefined, pointers }
    })
  }

  /** Another batch can be begun. */
  get ready(): boolean {
    return this.busy.length < LANES
  }

  get working(): boolean {
    return this.busy.length > 0
  }

  /** Begins a batch. What the device refuses the CPU makes meanwhile. Returns the size of what it takes from the slot. */
  begin(batch: number, slotIndex: number): { bytes: number; rows: number } {
    const { layout, buffer } = this.options
    const slot = new Slot(buffer, this.slotAt(slotIndex), layout)
    this.locks.lock(slotIndex)
    const line = this.lines.find(({ work }) => work === undefined)!
    const output = this.takeOutput(line.lane)
    try {
      const bad = this.makeBatch(line, slot, this.outputs[output].pointer)
      this.gpu.record(line.done, line.lane.stream)
      line.work = { batch, slot: slotIndex, output, bad }
    } catch (error) {
      this.free.unshift(output)
      throw error
    }
    this.busy.push(line)
    const rows = slot.words[Header.Count]
    return { bytes: rows * this.rowBytes, rows }
  }

  /** Batches that have been finished meanwhile, in order. */
  poll(): Finished[] {
    const finished: Finished[] = []
    while (this.busy.length > 0 && this.gpu.done(this.busy[0].done)) finished.push(this.take())
    return finished
  }

  /** Waits for the oldest batch. */
  finishOldest(): Finished[] {
    if (this.busy.length === 0) return []
    this.gpu.finish(this.busy[0].done)
    return [this.take()]
  }

  /** The consumer is done with an output, as far as it is concerned: what it has given to its stream so far goes first. */
  release(output: number): void {
    this.gpu.record(this.outputs[output].released, this.options.consumer)
    this.outputs[output].used = true
    this.free.push(output)
  }

  /** Reads from the device, after what the consumer has given to its stream so far. */
  download(pointer: bigint, bytes: number): Uint8Array<ArrayBuffer> {
    const to = new Uint8Array(bytes)
    if (bytes === 0) return to
    const [{ lane }] = this.lines
    const event = this.gpu.event()
    try {
      this.gpu.record(event, this.options.consumer)
      lane.wait(event)
      lane.download(to, pointer)
    } finally {
      this.gpu.destroyEvent(event)
    }
    return to
  }

  /** Gives everything back. What is under way is waited for. */
  close(): void {
    for (const { lane, pictures, arrays, generator, done, pointers } of this.lines) {
      lane.finish()
      pictures.free()
      arrays.free()
      generator?.free()
      lane.close()
      this.gpu.destroyEvent(done)
      this.gpu.freeHost(pointers.address)
    }
    for (const { pointer, released } of this.outputs.splice(0)) {
      this.gpu.free(pointer)
      this.gpu.destroyEvent(released)
    }
    this.locks.free()
    this.busy = []
  }

  // ---------------------------------------------------------------- slots and outputs

  private slotAt(slot: number): number {
    return CONTROL_BYTES + slot * this.options.layout.bytes
  }

  private takeOutput(lane: Lane): number {
    const index = this.free.shift()
    if (index !== undefined) {
      if (this.outputs[index].used) lane.wait(this.outputs[index].released)
      return index
    }
    const pointer = this.gpu.allocate(this.output.bytes)
    return this.outputs.push({ pointer, released: this.gpu.event(), used: false }) - 1
  }

  private take(): Finished {
    const line = this.busy.shift()!
    const { batch, slot, output, bad } = line.work!
    line.work = undefined
    return { batch, slot, output, pointer: this.outputs[output].pointer, bad }
  }

  // ---------------------------------------------------------------- fields

  /**
   * All fields, without the samples that are bad after all; returns those. A bad sample is taken out of all fields, and with
   * `drop` the rows behind it move up. That is done in the slot, and the batch is begun again: unlike PyTorch and JAX, in
   * which Python's stage finishes the batch and takes rows out of it later, Node has nothing that takes rows out of a tensor.
   */
  private makeBatch(line: Line, slot: Slot, output: bigint): BadRow[] {
    const bad: BadRow[] = []
    for (;;) {
      const found = this.makeFields(line, slot, output)
      if (found.length === 0) return bad
      bad.push(...found.filter(({ row }) => slot.status[row] !== RowStatus.Filler))
      // The lane's work reads the slot, which is about to change.
      line.lane.finish()
      removeRows(
        slot,
        found.map(({ row }) => row),
        this.options.policy,
      )
    }
  }

  /** Copies first: they go on while pictures are being decoded. Returns bad samples: then nothing of the result is of use. */
  private makeFields(line: Line, slot: Slot, output: bigint): BadRow[] {
    const { places } = this.output
    this.generate(line, slot, output)
    for (const place of places) {
      if (place.field.device === undefined) this.copy(line.lane, slot, place, output)
    }
    // A sample is bad once, however many of its fields are.
    const bad = new Map<number, BadRow>()
    for (const [number, place] of places.entries()) {
      const found = [
        ...this.makePictures(line, slot, place, number, output),
        ...this.decompress(line, slot, place, output),
      ]
      for (const one of found) if (!bad.has(one.row)) bad.set(one.row, one)
    }
    return [...bad.values()]
  }

  /** Fields that nothing comes in for but numbers of rows. */
  private generate({ generator }: Line, { words, stamps, positions, rows }: Slot, output: bigint): void {
    const count = words[Header.Count]
    if (generator === undefined || count === 0) return
    const made = this.output.places.filter(({ field }) => field.device?.kind === 'generated')
    const outputs = new Map(made.map(({ field, at }) => [field.name, output + BigInt(at)]))
    generator.make({ epoch: stamps[Stamp.Epoch], count, positions, rows }, outputs)
  }

  /** A field that the CPU has finished. */
  private copy(lane: Lane, slot: Slot, { field, at, index, offsetsAt }: OutputPlace, output: bigint): void {
    const from = this.options.address + BigInt(slot.at)
    const count = slot.words[Header.Count]
    const cursor = slot.words[Header.Cursor + index]
    const units = field.form === 'dense' ? count : field.form === 'padded' ? count * cursor : cursor
    if (units > 0) lane.upload(output + BigInt(at), from + BigInt(field.at), units * field.unitBytes)
    if (offsetsAt < 0) return
    lane.upload(output + BigInt(offsetsAt), from + BigInt(field.offsetsAt), (count + 1) * 4)
  }

  private decompress({ arrays }: Line, slot: Slot, place: OutputPlace, output: bigint): BadRow[] {
    const { field, compressed: device, at } = place
    if (device === undefined) return []
    const { buffer, address } = this.options
    const { name, unitBytes } = field
    const start = slot.at + field.at
    return arrays.make({
      name,
      device,
      count: slot.words[Header.Count],
      from: address + BigInt(start),
      unitBytes,
      head: row => new Uint32Array(buffer, start + row * unitBytes, device.headBytes / 4),
      output: output + BigInt(at),
      redo: rows => this.options.redo(slot, name, rows),
    })
  }

  private makePictures(
    { pictures, pointers }: Line,
    slot: Slot,
    { field, picture, at }: OutputPlace,
    number: number,
    output: bigint,
  ): BadRow[] {
    const count = slot.words[Header.Count]
    if (picture === undefined || count === 0) return []
    const { buffer, address, scratchBytes, layout } = this.options
    const header = headerAt(buffer, slot.at + field.at, field.unitBytes)
    const pointersAt = number * layout.rows * 8
    return pictures.make({
      device: picture,
      plan: planPictures(header, count, scratchBytes / LANES),
      header,
      count,
      from: address + BigInt(slot.at + field.at),
      unitBytes: field.unitBytes,
      output: output + BigInt(at),
      redo: rows => this.options.redo(slot, field.name, rows),
      pointers: {
        address: pointers.address + BigInt(pointersAt),
        values: new BigUint64Array(
          pointers.bytes.buffer,
          pointers.bytes.byteOffset + pointersAt,
          layout.rows,
        ),
      },
    })
  }
}

/**
 * Page-locks slots, once each, when they are first used: those beyond the depth have no memory. Copies from them then run
 * beside everything else, at the speed of the bus. Takes about 0.2 s a GiB.
 */
export class SlotPins {
  private readonly locked = new Map<number, bigint>()
  private refused = false

  constructor(
    private readonly gpu: Gpu,
    private readonly bytes: number,
    private readonly addressOf: (slot: number) => bigint,
  ) {}

  /** If it can't be done, copies are slower, and nothing else. */
  lock(slot: number): void {
    if (this.refused || this.locked.has(slot)) return
    const address = this.addressOf(slot)
    try {
      this.gpu.lock(address, this.bytes)
      this.locked.set(slot, address)
    } catch (error) {
      if (!(error instanceof CudaError)) throw error
      this.refused = true
      process.emitWarning(`slots can't be page-locked (${error.message}): copies to the GPU are slower`)
    }
  }

  free(): void {
    for (const address of this.locked.values()) this.gpu.unlock(address)
    this.locked.clear()
  }
}
