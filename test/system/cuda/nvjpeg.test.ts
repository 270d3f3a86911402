/** The decoder over a fake nvJPEG: set-up, batches that are narrowed down to what is refused, and errors. */
import { describe, expect, test } from 'vitest'
import { CudaError } from '../../../src/system/cuda/errors.js'
import { calledAlone, JpegDecoder, type NvjpegCalls } from '../../../src/system/cuda/nvjpeg.js'
import type { JpegPicture } from '../../../src/system/cuda/structs.js'

const STREAM = 77n
const HARDWARE = 3
const HYBRID = 2

/** Refuses pictures by their address. */
class FakeNvjpeg implements NvjpegCalls {
  readonly log: string[] = []
  sizes: number[] = []
  hardwareStatus = 0
  /** What refusing looks like. */
  refusal = 4
  alive = 0
  private size = 0

  onDecode = (): void => {}

  constructor(private readonly refused: Partial<Record<number, readonly bigint[]>> = {}) {}

  create(backend: number, _device: null, _pinned: null, flags: number, handle: Uint8Array): number {
    this.log.push(`create ${backend} ${flags}`)
    if (backend === HARDWARE && this.hardwareStatus !== 0) return this.hardwareStatus
    ;(handle as Buffer).writeBigUInt64LE(BigInt(backend))
    this.alive++
    return 0
  }
  destroy(): number {
    this.alive--
    return 0
  }
  createState(handle: bigint, state: Uint8Array): number {
    ;(state as Buffer).writeBigUInt64LE(handle * 100n)
    this.alive++
    return 0
  }
  destroyState(): number {
    this.alive--
    return 0
  }
  initialize(handle: bigint, state: bigint, size: number, threads: number, output: number): number {
    expect([state, threads, output]).toEqual([handle * 100n, 1, 5])
    this.size = size
    this.log.push(`initialize ${handle} ${size}`)
    return 0
  }
  decode(
    handle: bigint,
    state: bigint,
    data: Uint8Array,
    lengths: Uint8Array,
    images: Uint8Array,
    stream: bigint,
  ): number {
    expect([state, stream]).toEqual([handle * 100n, STREAM])
    expect(images.length).toBeGreaterThanOrEqual(this.size * 64)
    expect(lengths.length).toBeGreaterThanOrEqual(this.size * 8)
    this.onDecode()
    this.sizes.push(this.size)
    const addresses = new BigUint64Array(data.buffer, data.byteOffset, this.size)
    return addresses.some(address => this.refused[Number(handle)]?.includes(address) ?? false)
      ? this.refusal
      : 0
  }
  property(which: number, value: Uint8Array): number {
    ;(value as Buffer).writeInt32LE([13, 0, 1][which])
    return 0
  }
}

function pictures(count: number): JpegPicture[] {
  return Array.from({ length: count }, (_, i) => ({
    from: BigInt(i + 1),
    bytes: 10,
    to: BigInt(i) * 256n,
    width: 8,
  }))
}

function decoder(fake: NvjpegCalls, settle = () => {}): JpegDecoder {
  return new JpegDecoder(fake, STREAM, settle)
}

describe('decoding', () => {
  test('a back end is made when it is first needed, and set up again only when the size changes', () => {
    const fake = new FakeNvjpeg()
    const jpeg = decoder(fake)
    expect(fake.log).toEqual([])
    for (const size of [256, 256, 100]) expect(jpeg.decode('hardware', pictures(size))).toEqual([])
    expect(fake.log).toEqual(['create 3 32', 'initialize 3 256', 'initialize 3 100'])
    expect(jpeg.decode('hybrid', pictures(2))).toEqual([])
    expect(fake.log.slice(3)).toEqual(['create 2 32', 'initialize 2 2'])
    jpeg.close()
    expect(fake.alive).toBe(0)
  })

  test('whatever is called, nothing is left on the stream', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    let settled = 0
    fake.onDecode = () => expect(settled).toBe(fake.sizes.length + 1)
    const jpeg = decoder(fake, () => settled++)
    expect(jpeg.decode('hardware', pictures(4))).toEqual([1])
    expect(jpeg.decode('hybrid', pictures(1))).toEqual([])
    expect(fake.sizes).toEqual([4, 2, 1, 1, 2, 1])
  })

  test('nothing to decode is no call', () => {
    const fake = new FakeNvjpeg()
    expect(decoder(fake).decode('hardware', [])).toEqual([])
    expect(fake.sizes).toEqual([])
  })

  test('refused pictures are found, wherever they are, and the others are decoded', () => {
    for (const bad of [[0], [255], [3, 4], [0, 100, 255]]) {
      const fake = new FakeNvjpeg({ [HARDWARE]: bad.map(i => BigInt(i + 1)) })
      expect(decoder(fake).decode('hardware', pictures(256))).toEqual(bad)
      // Halving 256 takes 8 steps for each that is refused.
      expect(fake.sizes.length).toBeLessThanOrEqual(1 + bad.length * 16)
    }
  })

  test('after a failure the state is set up anew', () => {
    const fake = new FakeNvjpeg({ [HYBRID]: [1n] })
    const jpeg = decoder(fake)
    jpeg.decode('hybrid', pictures(1))
    jpeg.decode('hybrid', pictures(1))
    expect(fake.log.filter(line => line.startsWith('init'))).toHaveLength(2)
  })

  test.each([6, 8])(
    'after status %i the decoder may be in the middle of something: it is made anew',
    status => {
      const fake = new FakeNvjpeg({ [HARDWARE]: [3n] })
      fake.refusal = status
      const jpeg = decoder(fake)
      expect(jpeg.decode('hardware', pictures(4))).toEqual([2])
      expect(jpeg.decode('hardware', pictures(2))).toEqual([])
      // All four, two of them, and one failed.
      expect(fake.log.filter(line => line.startsWith('create'))).toHaveLength(1 + 3)
      jpeg.close()
      expect(fake.alive).toBe(0)
    },
  )

  test('a GPU without the JPEG engine refuses everything that is meant for it', () => {
    for (const status of [7, 9]) {
      const fake = new FakeNvjpeg()
      fake.hardwareStatus = status
      const jpeg = decoder(fake)
      expect(jpeg.decode('hardware', pictures(3))).toEqual([0, 1, 2])
      expect(jpeg.decode('hybrid', pictures(3))).toEqual([])
    }
  })
})

test('every call but that for the version is made alone', () => {
  const fake = new FakeNvjpeg()
  let inside = 0
  const alone = <T>(work: () => T): T => {
    inside++
    try {
      return work()
    } finally {
      inside--
    }
  }
  const watched = new Proxy(fake, {
    get: (target, name: keyof FakeNvjpeg) => {
      const value = target[name]
      if (typeof value !== 'function' || name === 'property') return value
      return (...args: never[]) => {
        expect([name, inside]).toEqual([name, 1])
        return (value as (...args: never[]) => unknown).apply(target, args)
      }
    },
  })
  const jpeg = decoder(calledAlone(watched, alone))
  expect(jpeg.decode('hardware', pictures(3))).toEqual([])
  jpeg.close()
  expect(fake.sizes).toEqual([3])
  expect(fake.alive).toBe(0)
})

describe('errors', () => {
  test('what is no fault of a picture is thrown', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    fake.refusal = 5
    const decode = (): number[] => decoder(fake).decode('hardware', pictures(4))
    expect(decode).toThrow(CudaError)
    expect(decode).toThrow('nvjpegDecodeBatched: NVJPEG_STATUS_ALLOCATOR_FAILURE: the GPU has no memory left')
  })

  test('a failed execution is a picture only while the context is alive', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    fake.refusal = 6
    expect(decoder(fake).decode('hardware', pictures(4))).toEqual([1])
    const dead = (): never => {
      throw new CudaError('cuStreamSynchronize', 'CUDA_ERROR_ILLEGAL_ADDRESS')
    }
    expect(() => decoder(fake, dead).decode('hardware', pictures(4))).toThrow(/ILLEGAL_ADDRESS/)
  })

  test('an nvJPEG that does not know how to interpolate is named', () => {
    const fake = new FakeNvjpeg()
    fake.hardwareStatus = 2
    expect(() => decoder(fake).decode('hardware', pictures(1))).toThrow(
      /INVALID_PARAMETER: this nvJPEG is too old/,
    )
  })
})
