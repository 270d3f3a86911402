/**
 * The CUDA driver: every call checked, every handle a bigint. It works in the device's primary context, which is also
 * that of PyTorch, CuPy and the CUDA runtime in this process; a context is current for one thread, so each thread that
 * uses the driver makes it so for itself.
 */
import { MissingError } from '../../core/basics/errors.js'
import { koffi, libc } from '../../core/system/native.js'
import { addressOfBytes, type DriverCall, type DriverCalls } from './driver-calls.js'
import { CudaError } from './errors.js'
import {
  CudaStatus,
  DeviceAttribute,
  EVENT_FLAGS,
  HOST_PORTABLE,
  MOST_QUEUES,
  QUEUES_VARIABLE,
  STREAM_NON_BLOCKING,
} from './numbers.js'
import {
  argumentBytes,
  COPY_2D_BYTES,
  type Copy2D,
  type KernelArgument,
  writeArguments,
  writeUpload2D,
} from './structs.js'

export interface DeviceFacts {
  ordinal: number
  name: string
  multiprocessors: number
  /** Compute capability: `sm_90`. */
  architecture: string
}

/** Blocks and threads of a launch along x, y and z. */
export interface LaunchShape {
  grid: readonly [x: number, y?: number, z?: number]
  block: readonly [x: number, y?: number, z?: number]
  /** Dynamic shared memory, bytes. */
  shared?: number
}

export class Driver {
  private readonly out = Buffer.alloc(16)
  private readonly copyStruct = Buffer.alloc(COPY_2D_BYTES)

  constructor(private readonly calls: DriverCalls) {}

  /** A driver without a GPU is as good as none. */
  begin(): void {
    const status = this.calls.cuInit(0)
    if (status === CudaStatus.NoDevice) {
      const { message } = new CudaError('cuInit', 'CUDA_ERROR_NO_DEVICE')
      throw new MissingError(`there is an NVIDIA driver, but no GPU: ${message}`)
    }
    this.check('cuInit', status)
  }

  // ---------------------------------------------------------------- devices and contexts

  /** 13020 is CUDA 13.2: the newest that this driver can do. */
  get version(): number {
    return this.int('cuDriverGetVersion')
  }

  get deviceCount(): number {
    return this.int('cuDeviceGetCount')
  }

  /** The device of that number (CUDA_VISIBLE_DEVICES counts), and what matters of it. */
  device(ordinal: number): { handle: number; facts: DeviceFacts } {
    const count = this.deviceCount
    if (ordinal >= count) {
      throw new MissingError(
        `there is no device cuda:${ordinal}: ${count === 1 ? 'one GPU is' : `${count} GPUs are`} visible, ` +
          'counted from 0; look at nvidia-smi -L and CUDA_VISIBLE_DEVICES',
      )
    }
    const handle = this.int('cuDeviceGet', ordinal)
    const name = Buffer.alloc(256)
    this.do('cuDeviceGetName', name, name.length, handle)
    const ask = (attribute: number): number => this.int('cuDeviceGetAttribute', attribute, handle)
    const facts = {
      ordinal,
      name: name.toString('utf8', 0, name.indexOf(0)),
      multiprocessors: ask(DeviceAttribute.Multiprocessors),
      architecture: `sm_${ask(DeviceAttribute.CapabilityMajor)}${ask(DeviceAttribute.CapabilityMinor)}`,
    }
    return { handle, facts }
  }

  retainContext(device: number): bigint {
    return this.handle('cuDevicePrimaryCtxRetain', device)
  }

  releaseContext(device: number): void {
    this.do('cuDevicePrimaryCtxRelease_v2', device)
  }

  /** For this thread. */
  setCurrent(context: bigint): void {
    this.do('cuCtxSetCurrent', context)
  }

  /** The context that is current in this thread; 0 for none. */
  get current(): bigint {
    return this.handle('cuCtxGetCurrent')
  }

  // ---------------------------------------------------------------- streams and events

  /** A stream of the highest priority, which doesn't wait for the default stream. */
  stream(): bigint {
    this.do('cuCtxGetStreamPriorityRange', this.out, this.out.subarray(8))
    const highest = this.out.readInt32LE(8)
    return this.handle('cuStreamCreateWithPriority', STREAM_NON_BLOCKING, highest)
  }

  destroyStream(stream: bigint): void {
    this.do('cuStreamDestroy_v2', stream)
  }

  /** Waits, here, until everything in the stream is done. */
  finishStream(stream: bigint): void {
    this.do('cuStreamSynchronize', stream)
  }

  /** Has a stream wait for an event; this thread goes on. */
  waitInStream(stream: bigint, event: bigint): void {
    this.do('cuStreamWaitEvent', stream, event, 0)
  }

  event(): bigint {
    return this.handle('cuEventCreate', EVENT_FLAGS)
  }

  destroyEvent(event: bigint): void {
    this.do('cuEventDestroy_v2', event)
  }

  record(event: bigint, stream: bigint): void {
    this.do('cuEventRecord', event, stream)
  }

  /** The work that was in the stream when the event was recorded is done. */
  done(event: bigint): boolean {
    const status = this.calls.cuEventQuery(event)
    if (status !== CudaStatus.NotReady) this.check('cuEventQuery', status)
    return status !== CudaStatus.NotReady
  }

  /** Waits, here, for an event. */
  finish(event: bigint): void {
    this.do('cuEventSynchronize', event)
  }

  // ---------------------------------------------------------------- memory

  allocate(bytes: number): bigint {
    return this.handle('cuMemAlloc_v2', Math.max(1, bytes))
  }

  free(pointer: bigint): void {
    this.do('cuMemFree_v2', pointer)
  }

  /** Page-locked host memory. */
  allocateHost(bytes: number): { address: bigint; bytes: Uint8Array } {
    const address = this.handle('cuMemHostAlloc', bytes, HOST_PORTABLE)
    return { address, bytes: new Uint8Array(koffi.view(address, bytes)) }
  }

  freeHost(address: bigint): void {
    this.do('cuMemFreeHost', address)
  }

  /** Page-locks memory that is there already, so that copies from it are asynchronous and at full speed. */
  lock(address: bigint, bytes: number): void {
    this.do('cuMemHostRegister_v2', address, bytes, HOST_PORTABLE)
  }

  unlock(address: bigint): void {
    this.do('cuMemHostUnregister', address)
  }

  /** Copies to the device, in the order of the stream. */
  upload(to: bigint, from: bigint, bytes: number, stream: bigint): void {
    this.do('cuMemcpyHtoDAsync_v2', to, from, bytes, stream)
  }

  /** Copies lines that lie apart. */
  upload2D(copy: Copy2D, stream: bigint): void {
    writeUpload2D(copy, this.copyStruct)
    this.do('cuMemcpy2DAsync_v2', this.copyStruct, stream)
  }

  download(to: bigint, from: bigint, bytes: number, stream: bigint): void {
    this.do('cuMemcpyDtoHAsync_v2', to, from, bytes, stream)
  }

  fill(to: bigint, value: number, bytes: number, stream: bigint): void {
    this.do('cuMemsetD8Async', to, value, bytes, stream)
  }

  // ---------------------------------------------------------------- kernels

  /** Loads a cubin into the current context. */
  load(image: Uint8Array): bigint {
    return this.handle('cuModuleLoadData', image)
  }

  unload(module: bigint): void {
    this.do('cuModuleUnload', module)
  }

  function(module: bigint, name: string): bigint {
    return this.handle('cuModuleGetFunction', module, name)
  }

  /** Puts a kernel into the stream. Its arguments are copied at once. */
  launch(kernel: bigint, shape: LaunchShape, args: readonly KernelArgument[], stream: bigint): void {
    const { grid, block, shared = 0 } = shape
    const packed = Buffer.alloc(argumentBytes(args))
    writeArguments(args, packed, addressOfBytes(packed))
    const [x, y = 1, z = 1] = grid
    const [i, j = 1, k = 1] = block
    this.do('cuLaunchKernel', kernel, x, y, z, i, j, k, shared, stream, packed, null)
  }

  // ---------------------------------------------------------------- calling

  private do(call: DriverCall, ...args: Parameters<DriverCalls[DriverCall]>): void {
    this.check(call, this.calls[call](...args))
  }

  private int(call: DriverCall, ...rest: Parameters<DriverCalls[DriverCall]>): number {
    this.do(call, this.out, ...rest)
    return this.out.readInt32LE(0)
  }

  private handle(call: DriverCall, ...rest: Parameters<DriverCalls[DriverCall]>): bigint {
    this.do(call, this.out, ...rest)
    return this.out.readBigUInt64LE(0)
  }

  private check(call: string, status: number): void {
    if (status !== 0) throw new CudaError(call, this.calls.errorName(status), this.calls.errorText(status))
  }
}

/**
 * Asks for all of CUDA's queues, before CUDA is first used in this process, unless the user has set a number. Otherwise
 * its streams share 8 of them, and the work in one queue is done in order, also that of different streams: nvJPEG, which has
 * 14 streams for each decoder, and the trainer would wait for each other. The driver reads C's environment, not a worker's
 * copy.
 */
export function askForQueues(): void {
  libc.func('int setenv(const char *name, const char *value, int overwrite)')(QUEUES_VARIABLE, MOST_QUEUES, 0)
}
