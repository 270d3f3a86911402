/** The contract of a GPU, as the device stage uses it. Tests put a simulated one in its place. */
import type { DeviceFacts } from './driver.js'
import type { DeviceStream, NvcompCodec } from './libraries/nvcomp.js'
import type { CudaSource } from './libraries/nvrtc.js'
import type { Copy2D, JpegPicture, KernelArgument } from './structs.js'

/** Addresses and handles are bigints; 0n is CUDA's default stream. */
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
