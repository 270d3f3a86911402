/**
 * nvJPEG: batches of JPEGs to interleaved RGB on the device, by the GPU's own JPEG engine or by its cores. Chroma is
 * interpolated as libjpeg-turbo does it, so results differ from the CPU's by rounding at most.
 *
 * The call blocks its thread until the pictures are decoded. If one picture is refused the whole call fails, so the
 * batch is then halved until those that are to blame are found.
 *
 * It is called alone, and with nothing left on its stream. It has 14 streams of its own for each decoder, which wait for
 * ours; where they share CUDA's queues with it, and it has work left, they may come to wait for each other for ever. On
 * an H200, beside a trainer and with 8 queues, one call in 120 did not return, while all streams but nvJPEG's own were
 * done.
 */
import { CudaError, nvjpegStatus } from './errors.js'
import { loadLibrary } from './libraries.js'
import { type DecodeArrays, decodeArrays, type JpegPicture, writeDecodeArrays } from './structs.js'

/** hardware: the JPEG engine (A100 and later), baseline files only. hybrid: the GPU's cores, also progressive files. */
export type Backend = keyof typeof BACKENDS

// Numbers of nvjpeg.h.
const BACKENDS = { hardware: 3, hybrid: 2 } as const
const OUTPUT_RGBI = 5
const INTERPOLATE_CHROMA = 32
const Status = {
  Success: 0,
  NotInitialized: 1,
  AllocatorFailure: 5,
  ExecutionFailed: 6,
  ArchMismatch: 7,
  InternalError: 8,
  BackendNotSupported: 9,
} as const
/** Statuses that say something about the GPU, not about a picture. */
const FATAL: readonly number[] = [Status.NotInitialized, Status.AllocatorFailure, Status.ArchMismatch]

/** The functions of libnvjpeg that we call. Tests put their own in place. */
export interface NvjpegCalls {
  create(backend: number, device: null, pinned: null, flags: number, handle: Uint8Array): number
  destroy(handle: bigint): number
  createState(handle: bigint, state: Uint8Array): number
  destroyState(state: bigint): number
  initialize(handle: bigint, state: bigint, size: number, threads: number, output: number): number
  decode(
    handle: bigint,
    state: bigint,
    data: Uint8Array,
    lengths: Uint8Array,
    images: Uint8Array,
    stream: bigint,
  ): number
  property(which: number, value: Uint8Array): number
}

export function bindNvjpeg(): NvjpegCalls {
  const library = loadLibrary('nvjpeg')
  return {
    create: library.func(
      'int nvjpegCreateEx(int backend, void *device, void *pinned, unsigned int flags, void *handle)',
    ),
    destroy: library.func('int nvjpegDestroy(uint64_t handle)'),
    createState: library.func('int nvjpegJpegStateCreate(uint64_t handle, void *state)'),
    destroyState: library.func('int nvjpegJpegStateDestroy(uint64_t state)'),
    initialize: library.func(
      'int nvjpegDecodeBatchedInitialize(uint64_t handle, uint64_t state, int size, int threads, int output)',
    ),
    decode: library.func(
      'int nvjpegDecodeBatched(uint64_t handle, uint64_t state, void *data, void *lengths, void *images, uint64_t stream)',
    ),
    property: library.func('int nvjpegGetProperty(int which, void *value)'),
  }
}

/** Does work while nobody else in the process calls nvJPEG. */
export type Alone = <T>(work: () => T) => T

/** Two calls at once, each with a handle and a state of its own, were once seen to wait for each other for ever. */
export function calledAlone(calls: NvjpegCalls, alone: Alone): NvjpegCalls {
  return {
    create: (...args) => alone(() => calls.create(...args)),
    destroy: (...args) => alone(() => calls.destroy(...args)),
    createState: (...args) => alone(() => calls.createState(...args)),
    destroyState: (...args) => alone(() => calls.destroyState(...args)),
    initialize: (...args) => alone(() => calls.initialize(...args)),
    decode: (...args) => alone(() => calls.decode(...args)),
    property: (...args) => calls.property(...args),
  }
}

/** The library's version: "13.0.1". */
export function nvjpegVersion(calls: NvjpegCalls): string {
  const value = Buffer.alloc(4)
  const part = (which: number): number => {
    calls.property(which, value)
    return value.readInt32LE()
  }
  return `${part(0)}.${part(1)}.${part(2)}`
}

interface Engine {
  handle: bigint
  state: bigint
  /** Batch size that the state is set up for. */
  size: number
}

export class JpegDecoder {
  private readonly engines = new Map<Backend, Engine | undefined>()
  private arrays: DecodeArrays = decodeArrays(64)
  private capacity = 64

  constructor(
    private readonly calls: NvjpegCalls,
    private readonly stream: bigint,
    /** Waits until nothing is left on the stream; throws if the context was harmed. */
    private readonly settle: () => void,
  ) {}

  /**
   * Decodes pictures into the stream. Returns the numbers of those that were refused; their pixels mean nothing. A GPU
   * without JPEG engines (they are there from the A100 on) refuses all that is meant for them. The engines don't wait
   * for the stream, as others report of the H100: when this is called, nobody may need what is where the pixels go.
   */
  decode(backend: Backend, pictures: readonly JpegPicture[]): number[] {
    return this.narrow(backend, pictures, 0)
  }

  close(): void {
    for (const backend of [...this.engines.keys()]) this.drop(backend)
  }

  private drop(backend: Backend): void {
    const engine = this.engines.get(backend)
    this.engines.delete(backend)
    if (engine === undefined) return
    this.calls.destroyState(engine.state)
    this.calls.destroy(engine.handle)
  }

  /** Decodes; where that fails, each half by itself. */
  private narrow(backend: Backend, pictures: readonly JpegPicture[], first: number): number[] {
    if (pictures.length === 0) return []
    const engine = this.engine(backend)
    if (engine === undefined) return pictures.map((_, i) => first + i)
    const status = this.run(engine, pictures)
    if (status === Status.Success) return []
    if (FATAL.includes(status)) throw new CudaError('nvjpegDecodeBatched', nvjpegStatus(status))
    if (status === Status.ExecutionFailed || status === Status.InternalError) {
      this.settle()
      this.drop(backend) // it may be in the middle of something: the next one is made anew
    }
    if (pictures.length === 1) return [first]
    const half = pictures.length >> 1
    return [
      ...this.narrow(backend, pictures.slice(0, half), first),
      ...this.narrow(backend, pictures.slice(half), first + half),
    ]
  }

  private run(engine: Engine, pictures: readonly JpegPicture[]): number {
    const { calls } = this
    const size = pictures.length
    if (size > this.capacity) {
      this.capacity = 2 ** Math.ceil(Math.log2(size))
      this.arrays = decodeArrays(this.capacity)
    }
    if (engine.size !== size) {
      this.check(
        'nvjpegDecodeBatchedInitialize',
        calls.initialize(engine.handle, engine.state, size, 1, OUTPUT_RGBI),
      )
      engine.size = size
    }
    writeDecodeArrays(pictures, this.arrays)
    this.settle()
    const { data, lengths, images } = this.arrays
    const status = calls.decode(engine.handle, engine.state, data, lengths, images, this.stream)
    // A state that has failed may hold on to what it had: it is set up anew.
    if (status !== Status.Success) engine.size = 0
    return status
  }

  private engine(backend: Backend): Engine | undefined {
    if (!this.engines.has(backend)) this.engines.set(backend, this.open(backend))
    return this.engines.get(backend)
  }

  private open(backend: Backend): Engine | undefined {
    const out = Buffer.alloc(8)
    const status = this.calls.create(BACKENDS[backend], null, null, INTERPOLATE_CHROMA, out)
    const absent = status === Status.ArchMismatch || status === Status.BackendNotSupported
    if (backend === 'hardware' && absent) return undefined
    this.check('nvjpegCreateEx', status)
    const handle = out.readBigUInt64LE()
    this.check('nvjpegJpegStateCreate', this.calls.createState(handle, out))
    return { handle, state: out.readBigUInt64LE(), size: 0 }
  }

  private check(call: string, status: number): void {
    if (status !== Status.Success) throw new CudaError(call, nvjpegStatus(status))
  }
}
