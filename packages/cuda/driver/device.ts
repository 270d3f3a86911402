/**
 * A GPU by CUDA: its primary context, our kernels, and lanes.
 *
 * Streams have the highest priority: a trainer lost less beside them than with the lowest (python/millrace/_gpu/tools.py
 * has the figures).
 */
import { koffi } from '../../core/system/native.js'
import { askForQueues, type DeviceFacts, Driver } from './driver.js'
import { bindDriver, type DriverCalls } from './driver-calls.js'
import type { Blocks, Gpu, Lane } from './gpu.js'
import { readSource, withCubin } from './kernels.js'
import { setDriver } from './libraries/find.js'
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

/** Kernels that are launched by name. */
const PROGRAMS = ['picture', 'mix'] as const

export class CudaDevice extends Driver implements Gpu {
  private readonly lanes = new Set<CudaLane>()
  private readonly modules: bigint[] = []
  private readonly kernels = new Map<string, bigint>()
  /** Set when pictures can be decoded, and when arrays can be decompressed. */
  nvjpeg: NvjpegCalls | undefined
  nvcomp: NvcompCalls | undefined

  private readonly number: number
  private readonly context: bigint
  readonly facts: DeviceFacts

  /** `cache`: the folder in which compiled kernels are kept. */
  private constructor(
    calls: DriverCalls,
    ordinal: number,
    private readonly cache: string,
  ) {
    super(calls)
    this.begin()
    setDriver(Math.floor(this.version / 1000))
    const { handle, facts } = this.device(ordinal)
    this.number = handle
    this.facts = facts
    this.context = this.retainContext(handle)
    this.setCurrent(this.context)
  }

  /** Loads the driver and takes the device's primary context, which becomes current in this thread. */
  static open(ordinal: number, cache: string, bind = bindDriver): CudaDevice {
    askForQueues()
    return new CudaDevice(bind(), ordinal, cache)
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
    const module = withCubin(source, this.facts.architecture, this.cache, cubin => this.load(cubin))
    this.modules.push(module)
    const found = this.function(module, kernel)
    this.kernels.set(name, found)
    return found
  }

  kernel(name: string): bigint {
    const found = this.kernels.get(name)
    if (found === undefined) throw new Error(`the kernel ${name} is not loaded`)
    return found
  }

  lane(): Lane {
    const lane = new CudaLane(this, () => this.lanes.delete(lane))
    this.lanes.add(lane)
    return lane
  }

  /** Reads from the device in the order of a stream, and waits for it. */
  read(to: Uint8Array, from: bigint, stream: bigint): void {
    if (to.byteLength === 0) return
    this.download(BigInt(koffi.address(to)), from, to.byteLength, stream)
    this.finishStream(stream)
  }

  close(): void {
    for (const lane of [...this.lanes]) lane.close()
    for (const module of this.modules.splice(0)) this.unload(module)
    this.setCurrent(0n)
    this.releaseContext(this.number)
  }

  /** Makes the device's context current in this thread, in which another one may have been meanwhile. */
  enter(): void {
    if (this.current !== this.context) this.setCurrent(this.context)
  }
}

/**
 * A lane: a CUDA stream with a decoder and a decompressor of its own. Two of them let one batch be decoded while another is
 * being transformed.
 */
class CudaLane implements Lane {
  readonly stream: bigint
  private jpegs: Jpegs | undefined
  private decompressor: Decompressor | undefined

  constructor(
    private readonly device: CudaDevice,
    private readonly closed: () => void,
  ) {
    this.stream = device.stream()
  }

  wait(event: bigint): void {
    this.device.waitInStream(this.stream, event)
  }

  upload(to: bigint, from: bigint, bytes: number): void {
    this.device.upload(to, from, bytes, this.stream)
  }

  uploadRows(copy: Copy2D): void {
    this.device.upload2D(copy, this.stream)
  }

  /** Waits until the bytes are here. */
  download(to: Uint8Array, from: bigint): void {
    this.device.read(to, from, this.stream)
  }

  launch(kernel: string, blocks: Blocks, threads: number, args: readonly KernelArgument[]): void {
    const grid = typeof blocks === 'number' ? ([blocks] as const) : blocks
    this.device.launch(this.device.kernel(kernel), { grid, block: [threads] }, args, this.stream)
  }

  decode(pictures: readonly JpegPicture[]): number[] {
    const { nvjpeg } = this.device
    if (nvjpeg === undefined) throw new Error('decoding was not prepared')
    this.jpegs ??= new Jpegs(this.device, nvjpeg)
    try {
      return this.jpegs.decoder.decode(pictures)
    } finally {
      this.jpegs.before(this.stream)
    }
  }

  decompress(codec: NvcompCodec, streams: readonly DeviceStream[]): number[] {
    const { nvcomp } = this.device
    if (nvcomp === undefined) throw new Error('decompressing was not prepared')
    this.decompressor ??= new Decompressor(nvcomp, this.device, this.stream)
    return this.decompressor.decompress(codec, streams)
  }

  finish(): void {
    this.device.finishStream(this.stream)
  }

  close(): void {
    this.finish()
    this.jpegs?.close()
    this.decompressor?.close()
    this.device.destroyStream(this.stream)
    this.closed()
  }
}

/**
 * A decoder with a stream of its own. nvJPEG is called only when nothing is left on its stream, and the lane's stream may
 * have to wait for the trainer.
 */
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

  /** Has a stream wait for the decoded pictures, before what is put into it from now on. */
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
