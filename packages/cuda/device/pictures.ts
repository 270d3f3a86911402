/**
 * The pictures of a batch, on one lane: decoded into scratch memory, finished by one kernel that does what their
 * parameter rows say, and mixed. Everything is put into the lane's stream; only decoding waits.
 */
import { EngineError } from '../../core/basics/errors.js'
import type { DevicePicture } from '../../core/define/making.js'
import type { BadRow } from '../../core/engine/make/cpu-decoder.js'
import { Form, Word } from '../../pixels/transform/device/parameter-words.js'
import { DeviceMemory, type Gpu, type JpegPicture, type Lane } from '../driver/index.js'
import { DEVICE_ALIGN, KERNELS } from './facts.js'
import { dtypeCode, type PicturePart, type PicturePlan, rowBytes, up } from './plan.js'

/** A picture field of a batch: where its rows lie on the host, and where the result goes. */
export interface PictureBatch {
  device: DevicePicture
  plan: PicturePlan
  /** The header of a row in the slot. */
  header(row: number): Int32Array
  count: number
  /** Host address of row 0, and from one row to the next. */
  from: bigint
  unitBytes: number
  /** Device address of the finished rows. */
  output: bigint
  /** Page-locked: the device address of each row's decoded picture. They belong to this field until the batch is done. */
  pointers: { address: bigint; values: BigUint64Array }
  /** Has the CPU make refused rows, in the slot. Returns those that it can't make either. */
  redo(rows: readonly number[]): BadRow[]
}

export class PictureMaker {
  private readonly memories: DeviceMemory[] = []
  /** Parameter rows without the pictures' bytes, and the device addresses of the decoded pictures. */
  private readonly rows: DeviceMemory
  private readonly addresses: DeviceMemory
  private readonly decoded: DeviceMemory
  /** Everything that reads `decoded` until now. */
  private readonly read: bigint
  /** The kernel's own. */
  private readonly scratch: DeviceMemory
  /** Pictures that the CPU has made after all. */
  private readonly redone: DeviceMemory
  /** A batch between two mixes. */
  private readonly spare: DeviceMemory
  private readonly lookups = new Map<string, bigint>()

  constructor(
    private readonly gpu: Gpu,
    private readonly lane: Lane,
    /** Blocks of a kernel at most: its share of the GPU. */
    private readonly blocks: number,
    /** Bytes that all blocks may take together; one block takes the bytes that it needs. */
    private readonly scratchBytes: number,
  ) {
    const memory = (): DeviceMemory => {
      const made = new DeviceMemory(gpu)
      this.memories.push(made)
      return made
    }
    this.rows = memory()
    this.addresses = memory()
    this.decoded = memory()
    this.read = gpu.event()
    this.scratch = memory()
    this.redone = memory()
    this.spare = memory()
  }

  /** Makes a field. Returns the rows whose pictures are bad: then nothing of the result is of use. */
  make(batch: PictureBatch): BadRow[] {
    const { device, plan, count, output } = batch
    const rows = this.rows.atLeast(count * device.words * 4)
    this.uploadRows(batch, rows)
    // Mixing goes back and forth between two buffers, and has to end in the output.
    const odd = plan.mixes.length % 2 === 1
    const spare = plan.mixes.length === 0 ? output : this.spare.atLeast(count * rowBytes(device))
    const bad = this.finish(batch, rows, odd ? spare : output)
    if (bad.length === 0) this.mix(batch, rows, odd ? spare : output, odd ? output : spare)
    return bad
  }

  free(): void {
    for (const memory of this.memories) memory.free()
    for (const pointer of this.lookups.values()) this.gpu.free(pointer)
    this.lookups.clear()
    this.gpu.destroyEvent(this.read)
  }

  private uploadRows({ device, from, unitBytes, count }: PictureBatch, to: bigint): void {
    const width = device.words * 4
    this.lane.uploadRows({ from, fromPitch: unitBytes, to, toPitch: width, width, height: count })
  }

  private finish(batch: PictureBatch, rows: bigint, target: bigint): BadRow[] {
    const { device, plan, count, pointers } = batch
    const { lane } = this
    const { pictureBytes, tableBytes } = plan
    const addresses = this.addresses.atLeast(count * 8)
    const decoded = this.decoded.atLeast(Math.max(DEVICE_ALIGN, plan.decodedBytes))
    const blockBytes = Math.max(DEVICE_ALIGN, 2 * pictureBytes + tableBytes)
    const blocks = Math.max(1, Math.min(count, this.blocks, Math.floor(this.scratchBytes / blockBytes)))
    const scratch = this.scratch.atLeast(blocks * blockBytes)
    const lookup = this.lookup(device)
    pointers.values.fill(0n, 0, count)
    const bad: BadRow[] = []
    for (const part of plan.parts) {
      // The JPEG engines write at once, whatever else the stream has still to do.
      this.gpu.finish(this.read)
      const refused = this.decode(batch, part, decoded)
      for (const { row, at } of part.pictures) pointers.values[row] = decoded + BigInt(at)
      bad.push(...this.redo(batch, refused, rows))
      // The remaining parts are decoded only to find all bad rows.
      if (bad.length > 0) continue
      const first = BigInt(part.from)
      const size = part.to - part.from
      lane.upload(addresses + first * 8n, pointers.address + first * 8n, size * 8)
      lane.launch('picture', Math.min(size, blocks), KERNELS.picture.threads, [
        rows + first * BigInt(device.words * 4),
        device.words,
        size,
        addresses + first * 8n,
        scratch,
        BigInt(pictureBytes),
        BigInt(tableBytes),
        target + first * BigInt(rowBytes(device)),
        lookup,
        dtypeCode(device.dtype),
        device.layout === 'hwc' ? 1 : 0,
        device.width,
        device.height,
      ])
      this.gpu.record(this.read, lane.stream)
    }
    return bad
  }

  /** Brings the pictures of a part to the scratch memory. Returns the rows that nvJPEG refuses. */
  private decode({ device, from, unitBytes }: PictureBatch, part: PicturePart, decoded: bigint): number[] {
    const jpegs: (JpegPicture & { row: number })[] = []
    for (const { row, form, sampling, bytes, at, width } of part.pictures) {
      const source = from + BigInt(row * unitBytes + device.words * 4)
      const to = decoded + BigInt(at)
      if (form === Form.Pixels) this.lane.upload(to, source, bytes)
      else jpegs.push({ row, from: source, bytes, to, width, sampling })
    }
    return jpegs.length === 0 ? [] : this.lane.decode(jpegs).map(i => jpegs[i].row)
  }

  /** Rows that nvJPEG refused: what the CPU makes of them goes to the device, with their parameter rows as they are now. */
  private redo(batch: PictureBatch, refused: readonly number[], rows: bigint): BadRow[] {
    if (refused.length === 0) return []
    const bad = batch.redo(refused)
    if (bad.length > 0) return bad
    const { device, from, unitBytes, pointers } = batch
    const rowBytes = device.words * 4
    const size = up(device.width * device.height * 3)
    const memory = this.redone.atLeast(refused.length * size)
    for (const [i, row] of refused.entries()) {
      const { [Word.Form]: form, [Word.Bytes]: bytes } = batch.header(row)
      if (form !== Form.Pixels || bytes > size) throw new EngineError(`row ${row} was not made as asked`)
      const source = from + BigInt(row * unitBytes)
      const to = memory + BigInt(i * size)
      this.lane.upload(rows + BigInt(row * rowBytes), source, rowBytes)
      this.lane.upload(to, source + BigInt(rowBytes), bytes)
      pointers.values[row] = to
    }
    return []
  }

  private mix({ device, plan, count }: PictureBatch, rows: bigint, source: bigint, result: bigint): void {
    const { dtype, layout, width, height } = device
    let [from, to] = [source, result]
    for (const which of plan.mixes) {
      const order = layout === 'hwc' ? 1 : 0
      const args = [rows, which, count, from, to, dtypeCode(dtype), order, width, height]
      this.lane.launch('mix', this.blocks, KERNELS.mix.threads, args)
      ;[from, to] = [to, from]
    }
  }

  /** The table of what each byte becomes: uploaded once, and waited for. */
  private lookup({ lookup }: DevicePicture): bigint {
    const known = this.lookups.get(lookup)
    if (known !== undefined) return known
    const table = Buffer.from(lookup, 'base64')
    const pointer = this.gpu.allocate(table.length)
    const host = this.gpu.allocateHost(table.length)
    host.bytes.set(table)
    this.lane.upload(pointer, host.address, table.length)
    this.lane.finish()
    this.gpu.freeHost(host.address)
    this.lookups.set(lookup, pointer)
    return pointer
  }
}
