/**
 * A lane: a CUDA stream with a decoder and a decompressor of its own. Two of them let one batch be decoded while another is
 * being transformed.
 */
import type { Driver } from './driver.js'
import type { Blocks, Lane } from './gpu.js'
import { Decompressor, type DeviceStream, type NvcompCalls, type NvcompCodec } from './libraries/nvcomp.js'
import { JpegDecoder, type NvjpegCalls } from './libraries/nvjpeg.js'
import type { Copy2D, JpegPicture, KernelArgument } from './structs.js'

/** The part of a device (device.ts) that its lanes use. */
interface LaneDevice {
  readonly driver: Driver
  /** Set when pictures can be decoded, and when arrays can be decompressed. */
  readonly nvjpeg: NvjpegCalls | undefined
  readonly nvcomp: NvcompCalls | undefined
  kernel(name: string): bigint
  download(to: Uint8Array, from: bigint, stream: bigint): void
}

export class CudaLane implements Lane {
  readonly stream: bigint
  private readonly driver: Driver
  private jpegs: Jpegs | undefined
  private decompressor: Decompressor | undefined

  constructor(
    private readonly device: LaneDevice,
    private readonly closed: () => void,
  ) {
    const { driver } = device
    this.driver = driver
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
    const { nvjpeg } = this.device
    if (nvjpeg === undefined) throw new Error('decoding was not prepared')
    this.jpegs ??= new Jpegs(this.driver, nvjpeg)
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
