/** The decoder over a fake nvJPEG: set-up, batches that are narrowed down to what is refused, and errors. */
import { describe, expect, test } from 'vitest'
import { CudaError } from '../../driver/errors.js'
import { calledAlone, JpegDecoder, type NvjpegCalls } from '../../driver/libraries/nvjpeg.js'
import type { JpegPicture } from '../../driver/structs.js'

const STREAM = 77n
const HARDWARE = 3

/** Refuses pictures by their address. */
class FakeNvjpeg implements NvjpegCalls {
  readonly log: string[] = []
  sizes: number[] = []
  /** Numbers of the states that decoded. */
  used: number[] = []
  hardwareStatus = 0
  /** What refusing looks like. */
  refusal = 4
  alive = 0
  private states = 0n
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
    ;(state as Buffer).writeBigUInt64LE(handle * 100n + this.states++)
    this.alive++
    return 0
  }
  destroyState(): number {
    this.alive--
    return 0
  }
  initialize(handle: bigint, state: bigint, size: number, threads: number, output: number): number {
    expect([state / 100n, threads, output]).toEqual([handle, 1, 5])
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
    expect([state / 100n, stream]).toEqual([handle, STREAM])
    this.used.push(Number(state % 100n))
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

function pictures(count: number, sampling: (i: number) => number = () => 0x22): JpegPicture[] {
  return Array.from({ length: count }, (_, i) => ({
    sampling: sampling(i),
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
  test('nvJPEG is opened when it is first needed, and set up again only when the size changes', () => {
    const fake = new FakeNvjpeg()
    const jpeg = decoder(fake)
    expect(fake.log).toEqual([])
    for (const size of [256, 256, 100]) expect(jpeg.decode(pictures(size))).toEqual([])
    expect(fake.log).toEqual(['create 3 32', 'initialize 3 256', 'initialize 3 100'])
    jpeg.close()
    expect(fake.alive).toBe(0)
  })

  test('each sampling has a state and calls of its own, and keeps its size', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n, 5n] })
    const jpeg = decoder(fake)
    const mixed = pictures(6, i => (i % 3 === 1 ? 0x11 : 0x22))
    expect(jpeg.decode(mixed)).toEqual([1, 4])
    fake.used = []
    fake.log.length = 0
    const good = mixed.map(picture => ({ ...picture, from: picture.from + 100n }))
    for (let turn = 0; turn < 2; turn++) expect(jpeg.decode(good)).toEqual([])
    expect(fake.used).toEqual([0, 1, 0, 1])
    // Only the state that had refused pictures is set up anew.
    expect(fake.log).toEqual(['initialize 3 2'])
    jpeg.close()
    expect(fake.alive).toBe(0)
  })

  test.each([2, 3, 4, 6, 8, 9, 10])('status %i refuses a picture, and the others are decoded', status => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [3n] })
    fake.refusal = status
    expect(decoder(fake).decode(pictures(4))).toEqual([2])
  })

  test('whatever is called, nothing is left on the stream', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    let settled = 0
    fake.onDecode = () => expect(settled).toBe(fake.sizes.length + 1)
    const jpeg = decoder(fake, () => settled++)
    expect(jpeg.decode(pictures(4))).toEqual([1])
    expect(jpeg.decode(pictures(1))).toEqual([])
    expect(fake.sizes).toEqual([4, 2, 1, 1, 2, 1])
  })

  test('nothing to decode is no call', () => {
    const fake = new FakeNvjpeg()
    expect(decoder(fake).decode([])).toEqual([])
    expect(fake.sizes).toEqual([])
  })

  test('refused pictures are found, wherever they are, and the others are decoded', () => {
    for (const bad of [[0], [255], [3, 4], [0, 100, 255]]) {
      const fake = new FakeNvjpeg({ [HARDWARE]: bad.map(i => BigInt(i + 1)) })
      expect(decoder(fake).decode(pictures(256))).toEqual(bad)
      // Halving 256 takes 8 steps for each that is refused.
      expect(fake.sizes.length).toBeLessThanOrEqual(1 + bad.length * 16)
    }
  })

  test('after a failure the state is set up anew', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [1n] })
    const jpeg = decoder(fake)
    jpeg.decode(pictures(1))
    jpeg.decode(pictures(1))
    expect(fake.log.filter(line => line.startsWith('init'))).toHaveLength(2)
  })

  test.each([6, 8])(
    'after status %i the decoder may be in the middle of something: it is made anew',
    status => {
      const fake = new FakeNvjpeg({ [HARDWARE]: [3n] })
      fake.refusal = status
      const jpeg = decoder(fake)
      expect(jpeg.decode(pictures(4))).toEqual([2])
      expect(jpeg.decode(pictures(2))).toEqual([])
      // All four, two of them, and one failed.
      expect(fake.log.filter(line => line.startsWith('create'))).toHaveLength(1 + 3)
      jpeg.close()
      expect(fake.alive).toBe(0)
    },
  )

  test('where there are no JPEG engines, the cores of the GPU decode', () => {
    for (const status of [7, 9]) {
      const fake = new FakeNvjpeg()
      fake.hardwareStatus = status
      const jpeg = decoder(fake)
      expect(jpeg.decode(pictures(3))).toEqual([])
      expect(fake.log).toEqual(['create 3 32', 'create 2 32', 'initialize 2 3'])
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
  expect(jpeg.decode(pictures(3))).toEqual([])
  jpeg.close()
  expect(fake.sizes).toEqual([3])
  expect(fake.alive).toBe(0)
})

describe('errors', () => {
  test('what is no fault of a picture is thrown', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    fake.refusal = 5
    const decode = (): number[] => decoder(fake).decode(pictures(4))
    expect(decode).toThrow(CudaError)
    expect(decode).toThrow('nvjpegDecodeBatched: NVJPEG_STATUS_ALLOCATOR_FAILURE: the GPU has no memory left')
  })

  test('a failed execution is a picture only while the context is alive', () => {
    const fake = new FakeNvjpeg({ [HARDWARE]: [2n] })
    fake.refusal = 6
    expect(decoder(fake).decode(pictures(4))).toEqual([1])
    const dead = (): never => {
      throw new CudaError('cuStreamSynchronize', 'CUDA_ERROR_ILLEGAL_ADDRESS')
    }
    expect(() => decoder(fake, dead).decode(pictures(4))).toThrow(/ILLEGAL_ADDRESS/)
  })

  test('an nvJPEG that does not know how to interpolate is named', () => {
    const fake = new FakeNvjpeg()
    fake.hardwareStatus = 2
    expect(() => decoder(fake).decode(pictures(1))).toThrow(/INVALID_PARAMETER: this nvJPEG is too old/)
  })
})
