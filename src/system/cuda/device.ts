/**
 * A GPU as the device stage uses it: its primary context, our kernels, and lanes. A lane is a stream with a decoder of
 * its own; two of them let one batch be decoded while another is being transformed.
 *
 * Streams have the highest priority: a trainer lost less beside them than with the lowest (python/millrace/_gpu/tools.py
 * has the figures).
 */
import { koffi } from '../native.js'
import { type DeviceFacts, Driver } from './driver.js'
import { readSource, withCubin } from './kernels.js'
import {
  bindNvcomp,
  Decompressor,
  type DeviceStream,
  type NvcompCalls,
  type NvcompCodec,
  nvcompVersion,
} from './libraries/nvcomp.js'
import {
  type Alone,
  bindNvjpeg,
  calledAlone,
  JpegDecoder,
  type NvjpegCalls,
  nvjpegVersion,
} from './libraries/nvjpeg.js'
import type { CudaSource } from './libraries/nvrtc.js'
import type { Copy2D, JpegPicture, KernelArgument } from './structs.js'

/** What the device stage asks of a GPU. Addresses and handles are bigints; 0n is CUDA's default stream. */
export interface Gpu {
  readonly facts: DeviceFacts
  allocate(bytes: number): bigint
  free(pointer: bigint): void
  /** Page-locked host memory. */
  allocateHost(bytes: number): { address: bigint; bytes: Uint8Array }
  freeHost(address: bigint): void
  /** Page-locks memory that is there already. */
  lock(address: bigint, bytes: number): void
  unlock(address: bigint): void
  event(): bigint
  destroyEvent(event: bigint): void
  record(event: bigint, stream: bigint): void
  done(event: bigint): boolean
  /** Waits, here, for an event. */
  finish(event: bigint): void
  /** Compiles a program; the name that comes back launches its kernel `entry`. */
  compile(source: CudaSource, entry: string): string
  lane(): Lane
  close(): void
}

/** Along x, or along x and y. */
export type Blocks = number | readonly [x: number, y: number]

/** Work that happens in the order in which it is given. Only `decode`, `decompress` and `finish` wait for the GPU. */
export interface Lane {
  readonly stream: bigint
  /** Goes on when the event is done. */
  wait(event: bigint): void
  upload(to: bigint, from: bigint, bytes: number): void
  uploadRows(copy: Copy2D): void
  download(to: Uint8Array, from: bigint): void
  launch(kernel: string, blocks: Blocks, threads: number, args: readonly KernelArgument[]): void
  /** Decodes pictures. Returns the numbers of those that are refused. */
  decode(pictures: readonly JpegPicture[]): number[]
  /** Decompresses streams. Returns the numbers of those that are refused. */
  decompress(codec: NvcompCodec, streams: readonly DeviceStream[]): number[]
  finish(): void
  close(): void
}

/** Kernels that are launched by name. */
const PROGRAMS = ['picture', 'mix'] as const

export class CudaDevice implements Gpu {
  private readonly lanes = new Set<CudaLane>()
  private readonly modules: bigint[] = []
  private readonly kernels = new Map<string, bigint>()
  private nvjpeg: NvjpegCalls | undefined
  /** Set when arrays can be decompressed. */
  nvcomp: NvcompCalls | undefined

  private constructor(
    readonly driver: Driver,
    private readonly handle: number,
    private readonly context: bigint,
    readonly facts: DeviceFacts,
    /** The folder in which compiled kernels are kept. */
    private readonly cache: string,
  ) {}

  /** Loads the driver and takes the device's primary context, which becomes current in this thread. */
  static open(ordinal: number, cache: string): CudaDevice {
    const driver = Driver.load()
    const { handle, facts } = driver.device(ordinal)
    const context = driver.retainContext(handle)
    driver.setCurrent(context)
    return new CudaDevice(driver, handle, context, facts, cache)
  }

  /**
   * Finds nvJPEG, which is called alone, and compiles our kernels; throws what is missing. Returns the decoder's name and
   * version.
   */
  prepareDecoding(alone: Alone): string {
    this.nvjpeg = calledAlone(bindNvjpeg(), alone)
    for (const name of PROGRAMS) this.add(readSource(`${name}.cu`), name)
    return `nvJPEG ${nvjpegVersion(this.nvjpeg)}`
  }

  /** Finds nvCOMP; throws what is missing. Returns its name and version. */
  prepareDecompressing(): string {
    this.nvcomp = bindNvcomp()
    return `nvCOMP ${nvcompVersion(this.nvcomp.version)}`
  }

  compile(source: CudaSource, entry: string): string {
    // The user's own may be named like ours.
    const name = `${entry} of ${source.name}`
    if (!this.kernels.has(name)) this.add(source, entry, name)
    return name
  }

  /** Compiles a program and makes one of its kernels known by a name. */
  add(source: CudaSource, kernel: string, name = kernel): bigint {
    const { driver, facts, cache } = this
    const module = withCubin(source, facts.architecture, cache, cubin => driver.load(cubin))
    this.modules.push(module)
    const found = driver.function(module, kernel)
    this.kernels.set(name, found)
    return found
  }

  kernel(name: string): bigint {
    const found = this.kernels.get(name)
    if (found === undefined) throw new Error(`the kernel ${name} is not loaded`)
    return found
  }

  lane(): Lane {
    const lane = new CudaLane(this, this.driver, this.nvjpeg, () => this.lanes.delete(lane))
    this.lanes.add(lane)
    return lane
  }

  allocate(bytes: number): bigint {
    return this.driver.allocate(bytes)
  }

  free(pointer: bigint): void {
    this.driver.free(pointer)
  }

  allocateHost(bytes: number): { address: bigint; bytes: Uint8Array } {
    const address = this.driver.allocateHost(bytes)
    return { address, bytes: new Uint8Array(koffi.view(address, bytes)) }
  }

  freeHost(address: bigint): void {
    this.driver.freeHost(address)
  }

  lock(address: bigint, bytes: number): void {
    this.driver.register(address, bytes)
  }

  unlock(address: bigint): void {
    this.driver.unregister(address)
  }

  event(): bigint {
    return this.driver.event()
  }

  destroyEvent(event: bigint): void {
    this.driver.destroyEvent(event)
  }

  record(event: bigint, stream: bigint): void {
    this.driver.record(event, stream)
  }

  done(event: bigint): boolean {
    return this.driver.done(event)
  }

  finish(event: bigint): void {
    this.driver.finish(event)
  }

  /** Reads from the device in a stream's turn, and waits for it. */
  download(to: Uint8Array, from: bigint, stream: bigint): void {
    if (to.byteLength === 0) return
    this.driver.download(BigInt(koffi.address(to)), from, to.byteLength, stream)
    this.driver.finishStream(stream)
  }

  close(): void {
    for (const lane of [...this.lanes]) lane.close()
    for (const module of this.modules.splice(0)) this.driver.unload(module)
    this.driver.setCurrent(0n)
    this.driver.releaseContext(this.handle)
  }

  /** Makes the device's context current in this thread, in which another one may have been meanwhile. */
  enter(): void {
    if (this.driver.current !== this.context) this.driver.setCurrent(this.context)
  }
}

class CudaLane implements Lane {
  readonly stream: bigint
  private jpegs: Jpegs | undefined
  private decompressor: Decompressor | undefined

  constructor(
    private readonly device: CudaDevice,
    private readonly driver: Driver,
    private readonly nvjpeg: NvjpegCalls | undefined,
    private readonly closed: () => void,
  ) {
    this.stream = driver.stream()
  }

  wait(event: bigint): void {
    this.driver.waitInStream(this.stream, event)
  }

  upload(to: bigint, from: bigint, bytes: number): void {
    this.driver.upload(to, from, bytes, this.stream)
  }

  uploadRows(copy: Copy2D): void {
    this.driver.upload2D(copy, this.stream)
  }

  /** Waits until the bytes are here. */
  download(to: Uint8Array, from: bigint): void {
    this.device.download(to, from, this.stream)
  }

  launch(kernel: string, blocks: Blocks, threads: number, args: readonly KernelArgument[]): void {
    const grid = typeof blocks === 'number' ? ([blocks] as const) : blocks
    this.driver.launch(this.device.kernel(kernel), { grid, block: [threads] }, args, this.stream)
  }

  decode(pictures: readonly JpegPicture[]): number[] {
    if (this.nvjpeg === undefined) throw new Error('decoding was not prepared')
    this.jpegs ??= new Jpegs(this.driver, this.nvjpeg)
    try {
      return this.jpegs.decoder.decode(pictures)
    } finally {
      this.jpegs.before(this.stream)
    }
  }

  decompress(codec: NvcompCodec, streams: readonly DeviceStream[]): number[] {
    const { nvcomp } = this.device
    if (nvcomp === undefined) throw new Error('decompressing was not prepared')
    this.decompressor ??= new Decompressor(nvcomp, this.driver, this.stream)
    return this.decompressor.decompress(codec, streams)
  }

  finish(): void {
    this.driver.finishStream(this.stream)
  }

  close(): void {
    this.finish()
    this.jpegs?.close()
    this.decompressor?.close()
    this.driver.destroyStream(this.stream)
    this.closed()
  }
}

/** A decoder on a stream that nothing else uses: it has to be settled before each call, and the lane's may wait for the trainer. */
class Jpegs {
  readonly decoder: JpegDecoder
  private readonly stream: bigint
  private readonly decoded: bigint

  constructor(
    private readonly driver: Driver,
    nvjpeg: NvjpegCalls,
  ) {
    this.stream = driver.stream()
    this.decoded = driver.event()
    this.decoder = new JpegDecoder(nvjpeg, this.stream, () => driver.finishStream(this.stream))
  }

  /** What is put into a stream from now on finds the pictures there. */
  before(stream: bigint): void {
    this.driver.record(this.decoded, this.stream)
    this.driver.waitInStream(stream, this.decoded)
  }

  close(): void {
    this.driver.finishStream(this.stream)
    this.decoder.close()
    this.driver.destroyEvent(this.decoded)
    this.driver.destroyStream(this.stream)
  }
}
