/**
 * A GPU of the mind: device memory that can be looked into, lanes that do their work as late as they may, pictures
 * decoded by TurboJPEG, and the kernels' plain twins. Whatever is read or written too early or too late shows.
 */

import { DTYPES, type Dtype, toF16 } from '../../../packages/core/basics/dtype.js'
import { decompress } from '../../../packages/core/system/codecs/turbojpeg.js'
import type {
  Blocks,
  CudaSource,
  DeviceStream,
  Gpu,
  JpegPicture,
  KernelArgument,
  Lane,
  NvcompCodec,
} from '../../../packages/cuda/driver/index.js'
import { addressOf, CudaError } from '../../../packages/cuda/driver/index.js'
import { decompress as decompressBytes } from '../../../packages/pixels/decode/compressed/decompress.js'
import { makePicture } from '../../../packages/pixels/test/transform/twins/picture.js'
import { mixRows } from './simulated-mix.js'

const DTYPE_OF: Dtype[] = ['u8', 'i8', 'u16', 'i16', 'i32', 'u32', 'i64', 'f16', 'bf16', 'f32', 'f64']
const DEVICE = 0x7000_0000_0000n
const HOST = 0x6000_0000_0000n
/** Bytes between two allocations, which nobody may touch. */
const GAP = 0x10_0000n

/** What a picture that the decoder refuses looks like. */
export type Refuse = (jpeg: Uint8Array) => boolean

/** Work in order; `upTo` does what is due until a place in it. */
class Stream {
  readonly work: (() => void)[] = []
  done = 0

  put(act: () => void): void {
    this.work.push(act)
  }
  upTo(place: number): void {
    while (this.done < place) this.work[this.done++]()
  }
}

export type SimulatedKernel = (gpu: SimulatedGpu, blocks: Blocks, args: readonly KernelArgument[]) => void

export class SimulatedGpu implements Gpu {
  readonly facts = { ordinal: 0, name: 'Simulated', multiprocessors: 132, architecture: 'sm_90' }
  readonly log: string[] = []
  /** Calls of the decoder. */
  decoded = 0
  /** CUDA's default stream. */
  readonly consumer = new Stream()
  readonly streams = new Map<bigint, Stream>([[0n, this.consumer]])
  readonly events = new Map<bigint, { stream: Stream; place: number } | undefined>()
  readonly locked = new Map<bigint, number>()
  closed = false
  /** Nothing that is asked of it comes to an end. */
  hangs = false
  /** Bytes for decoded pictures, where a stage shall have others than it asks for. */
  scratchBytes: number | undefined
  /** The name of its nvCOMP, if it has one. */
  nvcomp: string | undefined
  /** Kernels by name, as plain functions; tests add their own. */
  readonly kernels = new Map<string, SimulatedKernel>([
    ['picture', picture],
    ['mix', (gpu, _blocks, args) => mix(gpu, args)],
    ['synthetic', (gpu, _blocks, args) => synthetic(gpu, args)],
  ])
  private readonly memory = new Map<bigint, Uint8Array>()
  private next = { [String(DEVICE)]: DEVICE, [String(HOST)]: HOST }
  private handles = 1n

  constructor(
    readonly refuse: Refuse = () => false,
    /** Where the ring lies; set when it is known. */
    public ring: { address: bigint; buffer: ArrayBufferLike } = {
      address: 0n,
      buffer: new ArrayBuffer(0),
    },
  ) {}

  /** Allocations that are still there. */
  get allocations(): number {
    return this.memory.size
  }

  /** The bytes at an address, of the device or the host. Throws where nobody has allocated so much. */
  at(address: bigint, bytes: number): Uint8Array {
    const offset = address - this.ring.address
    if (offset >= 0n && offset + BigInt(bytes) <= BigInt(this.ring.buffer.byteLength))
      return new Uint8Array(this.ring.buffer, Number(offset), bytes)
    for (const [base, memory] of this.memory) {
      const from = address - base
      if (from >= 0n && from + BigInt(bytes) <= BigInt(memory.length))
        return memory.subarray(Number(from), Number(from) + bytes)
    }
    throw new Error(`${bytes} bytes at ${address.toString(16)} belong to nobody`)
  }

  private reserve(kind: bigint, bytes: number): bigint {
    const address = this.next[String(kind)]
    this.next[String(kind)] += (BigInt(bytes) / GAP + 2n) * GAP
    // Not zeros: what is read without having been written must show.
    this.memory.set(address, new Uint8Array(bytes).fill(0xa5))
    return address
  }

  allocate(bytes: number): bigint {
    this.log.push(`allocate ${bytes}`)
    return this.reserve(DEVICE, bytes)
  }
  free(pointer: bigint): void {
    this.finishAll()
    if (!this.memory.delete(pointer)) throw new Error('freed twice')
  }
  allocateHost(bytes: number): { address: bigint; bytes: Uint8Array } {
    const address = this.reserve(HOST, bytes)
    return { address, bytes: this.memory.get(address)! }
  }
  freeHost(address: bigint): void {
    if (!this.memory.delete(address)) throw new Error('freed twice')
  }
  lock(address: bigint, bytes: number): void {
    this.log.push(`lock ${bytes}`)
    if (this.locked.has(address)) throw new Error('locked twice')
    this.locked.set(address, bytes)
  }
  unlock(address: bigint): void {
    if (!this.locked.delete(address)) throw new Error('not locked')
  }
  event(): bigint {
    const event = this.handles++
    this.events.set(event, undefined)
    return event
  }
  destroyEvent(event: bigint): void {
    if (!this.events.delete(event)) throw new Error('no such event')
  }
  record(event: bigint, stream: bigint): void {
    const found = this.streams.get(stream)!
    this.log.push(`record ${stream === 0n ? 'consumer' : 'lane'}`)
    this.events.set(event, { stream: found, place: found.work.length })
  }
  /** As late as may be: only when somebody has waited for it. */
  done(event: bigint): boolean {
    const recorded = this.events.get(event)
    return recorded === undefined || recorded.stream.done >= recorded.place
  }
  finish(event: bigint): void {
    const recorded = this.events.get(event)
    this.log.push('finish')
    recorded?.stream.upTo(recorded.place)
  }
  finishAll(): void {
    for (const stream of this.streams.values()) stream.upTo(stream.work.length)
  }
  compile({ name }: CudaSource, entry: string): string {
    this.log.push(`compile ${name}`)
    if (!this.kernels.has(entry)) throw new CudaError('cuModuleGetFunction', 'CUDA_ERROR_NOT_FOUND')
    return entry
  }
  lane(): Lane {
    const stream = this.handles++
    const queue = new Stream()
    this.streams.set(stream, queue)
    return new SimulatedLane(this, stream, queue)
  }
  close(): void {
    this.closed = true
  }
}

class SimulatedLane implements Lane {
  constructor(
    private readonly gpu: SimulatedGpu,
    readonly stream: bigint,
    private readonly queue: Stream,
  ) {}

  wait(event: bigint): void {
    this.gpu.log.push('wait')
    const recorded = this.gpu.events.get(event)
    this.queue.put(() => recorded?.stream.upTo(recorded.place))
  }
  upload(to: bigint, from: bigint, bytes: number): void {
    this.gpu.log.push(`upload ${bytes}`)
    this.queue.put(() => this.gpu.at(to, bytes).set(this.gpu.at(from, bytes)))
  }
  uploadRows({ from, fromPitch, to, toPitch, width, height }: Parameters<Lane['uploadRows']>[0]): void {
    this.gpu.log.push(`rows ${width}x${height}`)
    this.queue.put(() => {
      for (let i = 0n; i < BigInt(height); i++) {
        const line = this.gpu.at(from + i * BigInt(fromPitch), width)
        this.gpu.at(to + i * BigInt(toPitch), width).set(line)
      }
    })
  }
  download(to: Uint8Array, from: bigint): void {
    this.finish()
    to.set(this.gpu.at(from, to.length))
  }
  launch(kernel: string, blocks: Blocks, threads: number, args: readonly KernelArgument[]): void {
    this.gpu.log.push(`${kernel} ${blocks}x${threads} rows ${args[2]}`)
    this.queue.put(() => this.gpu.kernels.get(kernel)!(this.gpu, blocks, args))
  }
  decode(pictures: readonly JpegPicture[]): number[] {
    this.gpu.log.push(`decode ${pictures.length}`)
    // The engines may write at once, and as late as when the stream comes to it: here they do this, then that.
    const late = this.gpu.decoded++ % 2 === 0
    const refused: number[] = []
    for (const [i, { from, bytes, to, width }] of pictures.entries()) {
      const jpeg = this.gpu.at(from, bytes).slice()
      if (this.gpu.refuse(jpeg)) {
        refused.push(i)
        continue
      }
      const pixels = decode(jpeg, width)
      const write = () => this.gpu.at(to, pixels.length).set(pixels)
      if (late) this.queue.put(write)
      else write()
    }
    return refused
  }
  /** As nvCOMP does it, by the CPU's decoders. */
  decompress(codec: NvcompCodec, streams: readonly DeviceStream[]): number[] {
    this.gpu.log.push(`decompress ${codec} ${streams.length}`)
    this.finish()
    return streams.flatMap(({ from, bytes, to, size }, i) => {
      try {
        const out = decompressBytes(codec, this.gpu.at(from, bytes).slice(), { most: size, usual: size })
        this.gpu.at(to, size).set(out)
        return out.length === size ? [] : [i]
      } catch {
        return [i]
      }
    })
  }
  finish(): void {
    this.queue.upTo(this.queue.work.length)
  }
  close(): void {
    this.finish()
    if (!this.gpu.streams.delete(this.stream)) throw new Error('closed twice')
    // Whoever goes on with a stream that is gone crashes.
    this.queue.put = this.queue.upTo = () => {
      throw new Error('no such stream')
    }
  }
}

function decode(jpeg: Uint8Array, width: number): Uint8Array {
  const height = heightOf(jpeg)
  const rgb = new Uint8Array(width * height * 3)
  decompress(jpeg, width, height, addressOf(rgb.buffer), width * 3, 'rgb')
  return rgb
}

/** Height, from the frame header. */
function heightOf(jpeg: Uint8Array): number {
  let at = 2
  for (;;) {
    const marker = jpeg[at + 1]
    if (marker >= 0xc0 && marker <= 0xc2) return (jpeg[at + 5] << 8) | jpeg[at + 6]
    at += 2 + ((jpeg[at + 2] << 8) | jpeg[at + 3])
  }
}

function synthetic(gpu: SimulatedGpu, args: readonly KernelArgument[]): void {
  const [pool, starts, firsts, count, length, code, out] = args as [
    bigint,
    bigint,
    bigint,
    number,
    bigint,
    number,
    bigint,
  ]
  const dtype = DTYPE_OF[code]
  const { bytes } = DTYPES[dtype]
  const rowBytes = Number(length) * bytes
  const places = new DataView(gpu.at(starts, count * 4).slice().buffer)
  const numbers = new BigInt64Array(gpu.at(firsts, count * 8).slice().buffer)
  for (let i = 0; i < count; i++) {
    const row = gpu.at(out + BigInt(i * rowBytes), rowBytes)
    row.set(gpu.at(pool + BigInt(places.getUint32(i * 4, true) * bytes), rowBytes))
    const first = new DTYPES[dtype].array(new ArrayBuffer(8), 0, 1)
    first[0] = dtype === 'i64' ? numbers[i] : dtype === 'f16' ? toF16(Number(numbers[i])) : Number(numbers[i])
    row.set(new Uint8Array(first.buffer, 0, bytes))
  }
}

function picture(gpu: SimulatedGpu, blocks: Blocks, args: readonly KernelArgument[]): void {
  const [rows, words, count, pictures, scratch, pictureBytes, tableBytes, out, lookup, code, hwc] = args as [
    bigint,
    number,
    number,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    number,
    number,
  ]
  const [width, height] = args.slice(11) as number[]
  const dtype = DTYPE_OF[code]
  const elementBytes = DTYPES[dtype].bytes
  const rowBytes = 3 * width * height * elementBytes
  // All of the blocks' scratch memory is there.
  gpu.at(scratch, (blocks as number) * Number(2n * pictureBytes + tableBytes))
  const form = {
    dtype,
    layout: hwc === 1 ? ('hwc' as const) : ('chw' as const),
    width,
    height,
    lookup: gpu.at(lookup, 768 * elementBytes),
  }
  for (let i = 0; i < count; i++) {
    const row = new Uint32Array(gpu.at(rows + BigInt(i * words * 4), words * 4).slice().buffer)
    const address = new BigUint64Array(gpu.at(pictures + BigInt(i * 8), 8).slice().buffer)[0]
    const bytes = row[0] === 0 ? 0 : row[2] * row[3] * 3
    const decoded = bytes === 0 ? new Uint8Array(0) : gpu.at(address, bytes).slice()
    gpu.at(out + BigInt(i * rowBytes), rowBytes).set(makePicture(row, decoded, form))
  }
}

function mix(gpu: SimulatedGpu, args: readonly KernelArgument[]): void {
  const [rows, which, count, from, to, code, hwc, width, height] = args as [
    bigint,
    number,
    number,
    bigint,
    bigint,
    number,
    number,
    number,
    number,
  ]
  const dtype = DTYPE_OF[code]
  const bytes = count * 3 * width * height * DTYPES[dtype].bytes
  const header = new Uint32Array(gpu.at(rows, 128).slice().buffer)
  gpu
    .at(to, bytes)
    .set(mixRows(header, which, gpu.at(from, bytes).slice(), { count, dtype, hwc: hwc === 1, width, height }))
}
