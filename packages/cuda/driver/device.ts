/**
 * A GPU by CUDA: its primary context, our kernels, and lanes.
 *
 * Streams have the highest priority: a trainer lost less beside them than with the lowest (python/millrace/_gpu/tools.py
 * has the figures).
 */
import { koffi } from '../../core/system/native.js'
import { type DeviceFacts, Driver } from './driver.js'
import type { Gpu, Lane } from './gpu.js'
import { readSource, withCubin } from './kernels.js'
import { CudaLane } from './lane.js'
import { bindNvcomp, type NvcompCalls, nvcompVersion } from './libraries/nvcomp.js'
import { type Alone, bindNvjpeg, calledAlone, type NvjpegCalls, nvjpegVersion } from './libraries/nvjpeg.js'
import type { CudaSource } from './libraries/nvrtc.js'

/** Kernels that are launched by name. */
const PROGRAMS = ['picture', 'mix'] as const

export class CudaDevice implements Gpu {
  private readonly lanes = new Set<CudaLane>()
  private readonly modules: bigint[] = []
  private readonly kernels = new Map<string, bigint>()
  /** Set when pictures can be decoded, and when arrays can be decompressed. */
  nvjpeg: NvjpegCalls | undefined
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
    const lane = new CudaLane(this, () => this.lanes.delete(lane))
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

  /** Reads from the device in the order of a stream, and waits for it. */
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
