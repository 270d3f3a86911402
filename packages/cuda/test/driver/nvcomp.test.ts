/** nvCOMP's calls in each version, byte by byte, and what becomes of refused streams. */
import koffi from 'koffi'
import { beforeEach, describe, expect, test } from 'vitest'
import { CudaError } from '../../driver/errors.js'
import {
  bindNvcomp,
  Decompressor,
  type DeviceAccess,
  type NativeLibrary,
  type NvcompCalls,
  nvcompVersion,
  OPTIONS_TYPE,
  type StreamTables,
} from '../../driver/libraries/nvcomp.js'

/** Notes calls: the name, the types as bound, and the values. */
class FakeLibrary implements NativeLibrary {
  readonly calls: { name: string; types: unknown[]; args: unknown[] }[] = []
  constructor(
    private readonly version: number,
    private readonly status = 0,
  ) {}

  func(name: string, result: string, types: unknown[]): (...args: unknown[]) => unknown {
    expect(result).toBe('int')
    return (...args) => {
      expect(args.length).toBe(types.length)
      if (name === 'nvcompGetProperties') {
        ;(args[0] as Uint32Array).set([this.version, 13000])
        return 0
      }
      for (const arg of args) if (arg instanceof BigUint64Array) arg[0] = 4096n
      this.calls.push({ name, types, args })
      return this.status
    }
  }
}

const OPTIONS = { backend: 2, reserved: new Array(60).fill(0) }
const TABLES: StreamTables = {
  count: 3,
  streams: 0x1000n,
  sizes: 0x2000n,
  rooms: 0x3000n,
  outputs: 0x4000n,
  actual: 0x5000n,
  statuses: 0x6000n,
}

describe('the library', () => {
  test('options are 64 bytes, the back end first', () => {
    expect(koffi.sizeof(OPTIONS_TYPE)).toBe(64)
    const bytes = Buffer.alloc(64, 0xee)
    koffi.encode(bytes, OPTIONS_TYPE, OPTIONS)
    expect([...bytes]).toEqual([2, ...new Array(63).fill(0)])
  })

  test.each([
    [4200, 'GetTempSizeEx', ['size_t', 'size_t', 'void *', 'size_t'], [3, 100, 'temp', 300]],
    [
      5300,
      'GetTempSizeAsync',
      ['size_t', 'size_t', OPTIONS_TYPE, 'void *', 'size_t'],
      [3, 100, OPTIONS, 'temp', 300],
    ],
    [
      6000,
      'GetTempSize',
      ['size_t', 'size_t', OPTIONS_TYPE, 'void *', 'size_t', 'uint64_t'],
      [3, 100, OPTIONS, 'temp', 300, 77n],
    ],
  ] as const)('%i: memory to work in', (version, what, types, args) => {
    const library = new FakeLibrary(version)
    expect(bindNvcomp(library).tempBytes('zstd', 3, 100, 300, 77n)).toBe(4096)
    const [call] = library.calls
    expect(call.name).toBe(`nvcompBatchedZstdDecompress${what}`)
    expect(call.types).toEqual(types)
    expect(call.args.map(arg => (arg instanceof BigUint64Array ? 'temp' : arg))).toEqual(args)
  })

  test.each([4000, 5000, 6001])('%i: decompressing', version => {
    const library = new FakeLibrary(version)
    const calls = bindNvcomp(library)
    for (const codec of ['zstd', 'lz4', 'deflate'] as const)
      calls.decompress(codec, TABLES, 0x9000n, 512, 77n)
    expect(library.calls.map(({ name }) => name)).toEqual(
      ['Zstd', 'LZ4', 'Deflate'].map(codec => `nvcompBatched${codec}DecompressAsync`),
    )
    const options = version < 5000 ? [] : [OPTIONS]
    for (const { args, types } of library.calls) {
      expect(args).toEqual([
        ...[0x1000n, 0x2000n, 0x3000n, 0x5000n, 3, 0x9000n, 512, 0x4000n],
        ...[...options, 0x6000n, 77n],
      ])
      const sizes = types.map(type => (type === 'uint64_t' ? 'address' : type))
      expect(sizes).toEqual([
        ...['address', 'address', 'address', 'address', 'size_t', 'address', 'size_t', 'address'],
        ...[...options.map(() => OPTIONS_TYPE), 'address', 'address'],
      ])
    }
  })

  test('an unknown version is named', () => {
    expect(() => bindNvcomp(new FakeLibrary(7102))).toThrow(/nvCOMP 7\.1\.2 is installed, and only versions/)
    expect(() => bindNvcomp(new FakeLibrary(3006))).toThrow(/nvCOMP 3\.0\.6/)
    expect(nvcompVersion(6000)).toBe('6.0.0')
  })

  test('what is refused has its name', () => {
    const calls = bindNvcomp(new FakeLibrary(6000, 11))
    expect(() => calls.decompress('lz4', TABLES, 0n, 0, 7n)).toThrow(CudaError)
    expect(() => calls.decompress('lz4', TABLES, 0n, 0, 7n)).toThrow(
      'nvcompBatchedLZ4DecompressAsync: nvcompErrorNotSupported',
    )
  })
})

/** A device whose memory is one buffer; addresses are offsets from BASE. */
const BASE = 0x10_0000n

class FakeDriver implements DeviceAccess {
  readonly memory = new Uint8Array(1 << 16)
  readonly log: string[] = []
  private next = 0

  allocate(bytes: number): bigint {
    this.log.push(`allocate ${bytes}`)
    const at = this.next
    this.next += Math.ceil(bytes / 64) * 64
    return BASE + BigInt(at)
  }
  free(pointer: bigint): void {
    this.log.push(`free ${pointer - BASE}`)
  }
  upload(to: bigint, from: bigint, bytes: number, stream: bigint): void {
    this.log.push(`upload ${bytes} on ${stream}`)
    this.memory.set(koffi.decode(from, koffi.array('uint8_t', bytes)) as number[], Number(to - BASE))
  }
  download(to: bigint, from: bigint, bytes: number, stream: bigint): void {
    this.log.push(`download ${bytes} on ${stream}`)
    const at = Number(from - BASE)
    koffi.encode(to, koffi.array('uint8_t', bytes), [...this.memory.subarray(at, at + bytes)])
  }
  finishStream(stream: bigint): void {
    this.log.push(`finish ${stream}`)
  }
  u64(at: bigint, count: number): bigint[] {
    const start = Number(at - BASE)
    return [...new BigUint64Array(this.memory.slice(start, start + count * 8).buffer)]
  }
}

describe('the decompressor', () => {
  let driver: FakeDriver
  let statuses: number[]
  let actual: bigint[]
  const seen: bigint[][] = []

  const calls: NvcompCalls = {
    version: 6000,
    tempBytes: (_codec, count, largest, total) => count + largest + total,
    decompress(_codec, tables, temp, tempBytes) {
      expect(temp).toBeGreaterThan(0n)
      expect(tempBytes).toBe(tables.count + 400 + 400 * tables.count)
      for (const at of [tables.streams, tables.sizes, tables.rooms, tables.outputs])
        seen.push(driver.u64(at, tables.count))
      const at = Number(tables.actual - BASE)
      driver.memory.set(new Uint8Array(BigUint64Array.from(actual).buffer), at)
      driver.memory.set(new Uint8Array(Int32Array.from(statuses).buffer), Number(tables.statuses - BASE))
    },
  }

  beforeEach(() => {
    driver = new FakeDriver()
    seen.length = 0
  })

  const streams = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      from: BigInt(1000 + i),
      bytes: 10 + i,
      to: BigInt(5000 + i),
      size: 400,
    }))

  test('tables lie as nvCOMP wants them, and its word on each stream is heard', () => {
    statuses = [0, 12, 0, 0, 0]
    actual = [400n, 400n, 399n, 400n, 400n]
    const decompressor = new Decompressor(calls, driver, 9n)
    expect(decompressor.decompress('zstd', streams(5))).toEqual([1, 2])
    expect(seen).toEqual([
      [1000n, 1001n, 1002n, 1003n, 1004n],
      [10n, 11n, 12n, 13n, 14n],
      [400n, 400n, 400n, 400n, 400n],
      [5000n, 5001n, 5002n, 5003n, 5004n],
    ])
    expect(driver.log).toEqual([
      ...['allocate 224', 'upload 160 on 9', 'allocate 2405', 'download 64 on 9', 'finish 9'],
    ])
    // Fewer streams take no new memory.
    statuses = [0, 0]
    actual = [400n, 400n]
    expect(decompressor.decompress('zstd', streams(2))).toEqual([])
    expect(driver.log.filter(line => line.startsWith('allocate')).length).toBe(2)
    decompressor.close()
    decompressor.close()
    expect(driver.log.filter(line => line.startsWith('free')).length).toBe(2)
  })
})
