/**
 * nvJPEG: batches of baseline JPEGs to interleaved RGB on the device, by the GPU's own JPEG engines, or by its cores where
 * it has none. Chroma is interpolated as libjpeg-turbo does it, so results differ from the CPU's by rounding at most.
 *
 * The call blocks its thread until the pictures are decoded. If one picture is refused the whole call fails, so the
 * batch is then halved until those that are to blame are found.
 *
 * Each sampling of chroma has a state of its own, and calls of its own. A state that meets another sampling than the
 * picture before sets itself up anew: 0.9 ms each time on an H200, so that 10 pictures of 4:4:4 among 246 of 4:2:0 took
 * 20.3 ms, and 12.7 ms with two states.
 *
 * It is called alone, and with nothing left on its stream. It has 14 streams of its own for each decoder, which wait for
 * ours; where they share CUDA's queues with it, and it has work left, they may come to wait for each other for ever. On
 * an H200, beside a trainer and with 8 queues, one call in 120 did not return, while all streams but nvJPEG's own were
 * done.
 */
import { CudaError } from '../errors.js'
import { NVJPEG_INTERPOLATE_CHROMA, NVJPEG_OUTPUT_RGBI, NvjpegBackend } from '../numbers.js'
import { type DecodeArrays, decodeArrays, type JpegPicture, writeDecodeArrays } from '../structs.js'
import { loadLibrary } from './find.js'
import { nvjpegName, nvjpegStatus } from './nvjpeg-status.js'

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

/** Does work while no other thread of the process calls nvJPEG. */
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

/** nvJPEG's state for pictures of one sampling. */
interface State {
  pointer: bigint
  /** Batch size that it is set up for. */
  size: number
}

export class JpegDecoder {
  /** nvJPEG's own, opened when it is first needed. */
  private handle: bigint | undefined
  private readonly states = new Map<number, State>()
  private arrays: DecodeArrays = decodeArrays(64)
  private capacity = 64

  constructor(
    private readonly calls: NvjpegCalls,
    private readonly stream: bigint,
    /** Waits until nothing is left on the stream; throws if the context was harmed. */
    private readonly settle: () => void,
  ) {}

  /**
   * Decodes pictures into the stream, those of one sampling together. Returns the numbers of those that were refused; their
   * pixels mean nothing. The engines don't wait for the stream, as others report of the H100: when this is called, no
   * earlier work may still need what is where the pixels go.
   */
  decode(pictures: readonly JpegPicture[]): number[] {
    const kinds = new Map<number, number[]>()
    for (const [i, { sampling }] of pictures.entries()) {
      const same = kinds.get(sampling)
      if (same) same.push(i)
      else kinds.set(sampling, [i])
    }
    const refused = [...kinds].flatMap(([sampling, numbers]) => this.narrow(sampling, pictures, numbers))
    return refused.sort((a, b) => a - b)
  }

  close(): void {
    for (const { pointer } of this.states.values()) this.calls.destroyState(pointer)
    this.states.clear()
    if (this.handle !== undefined) this.calls.destroy(this.handle)
    this.handle = undefined
  }

  /** Decodes the pictures of these numbers; where that fails, each half by itself. */
  private narrow(sampling: number, pictures: readonly JpegPicture[], numbers: readonly number[]): number[] {
    const status = this.run(
      sampling,
      numbers.map(i => pictures[i]),
    )
    const { decoding } = nvjpegStatus(status)
    if (decoding === 'go on') return []
    if (decoding === 'fatal') throw new CudaError('nvjpegDecodeBatched', nvjpegName(status))
    if (decoding === 'reopen') {
      // Where the context was harmed, this throws: then it was no fault of a picture.
      this.settle()
      this.close()
    }
    if (numbers.length === 1) return [...numbers]
    const half = numbers.length >> 1
    return [numbers.slice(0, half), numbers.slice(half)].flatMap(some =>
      this.narrow(sampling, pictures, some),
    )
  }

  private run(sampling: number, pictures: readonly JpegPicture[]): number {
    const { calls } = this
    this.handle ??= this.open()
    const state = this.state(this.handle, sampling)
    const size = pictures.length
    if (size > this.capacity) {
      this.capacity = 2 ** Math.ceil(Math.log2(size))
      this.arrays = decodeArrays(this.capacity)
    }
    if (state.size !== size) {
      this.check(
        'nvjpegDecodeBatchedInitialize',
        calls.initialize(this.handle, state.pointer, size, 1, NVJPEG_OUTPUT_RGBI),
      )
      state.size = size
    }
    writeDecodeArrays(pictures, this.arrays)
    this.settle()
    const { data, lengths, images } = this.arrays
    const status = calls.decode(this.handle, state.pointer, data, lengths, images, this.stream)
    // A state that has failed may hold on to what it had: it is set up anew.
    if (status !== 0) state.size = 0
    return status
  }

  private state(handle: bigint, sampling: number): State {
    let state = this.states.get(sampling)
    if (state === undefined) {
      const out = Buffer.alloc(8)
      this.check('nvjpegJpegStateCreate', this.calls.createState(handle, out))
      state = { pointer: out.readBigUInt64LE(), size: 0 }
      this.states.set(sampling, state)
    }
    return state
  }

  /** The JPEG engines, or the GPU's cores where there are none. */
  private open(): bigint {
    const out = Buffer.alloc(8)
    const create = (backend: number): number =>
      this.calls.create(backend, null, null, NVJPEG_INTERPOLATE_CHROMA, out)
    const status = create(NvjpegBackend.Hardware)
    const absent = nvjpegStatus(status).opening === 'cores'
    this.check('nvjpegCreateEx', absent ? create(NvjpegBackend.Hybrid) : status)
    return out.readBigUInt64LE()
  }

  private check(call: string, status: number): void {
    if (status !== 0) throw new CudaError(call, nvjpegName(status))
  }
}
