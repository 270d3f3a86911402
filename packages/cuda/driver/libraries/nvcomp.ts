/**
 * nvCOMP: many compressed streams on the device, decompressed at once, each to its place.
 *
 * Its functions have changed from one major version to the next; those of 4, 5 and 6 are known, from their headers:
 *
 *   4    …DecompressGetTempSizeEx(n, largest, *temp, total)
 *   5    …DecompressGetTempSizeAsync(n, largest, options, *temp, total)
 *   6    …DecompressGetTempSize(n, largest, options, *temp, total, stream)
 *   all  …DecompressAsync(streams, sizes, rooms, *actual, n, temp, its size, outputs, [options,] *statuses, stream)
 *
 * Options (since 5) are 64 bytes, passed by value: the back end and zeros. We ask for the CUDA one: the engines of newer
 * GPUs want memory of a special kind, and say nothing of damaged data.
 */
import { MissingError } from '../../../core/basics/errors.js'
import { koffi } from '../../../core/system/native.js'
import { CudaError } from '../errors.js'
import { DeviceMemory } from '../memory.js'
import {
  NVCOMP_BACKEND_CUDA,
  NVCOMP_CODECS,
  NVCOMP_MAJORS,
  NVCOMP_OPTIONS_BYTES,
  NVCOMP_STATUSES,
} from '../numbers.js'
import { loadLibrary } from './find.js'

export type NvcompCodec = keyof typeof NVCOMP_CODECS

/** Bytes of the options behind the back end. */
const RESERVED = NVCOMP_OPTIONS_BYTES - 4

/** nvcompBatched…DecompressOpts_t, equal for all codecs as far as we fill it in. */
export const OPTIONS_TYPE = koffi.struct({ backend: 'int', reserved: koffi.array('uint8_t', RESERVED) })
const OPTIONS = { backend: NVCOMP_BACKEND_CUDA, reserved: new Array<number>(RESERVED).fill(0) }

/** A stream on the device, and where its output goes. */
export interface DeviceStream {
  from: bigint
  bytes: number
  to: bigint
  /** Bytes that must come out. */
  size: number
}

/** Addresses, on the device, of arrays with an entry for each of `count` streams. All but statuses (i32) are of u64. */
export interface StreamTables {
  count: number
  streams: bigint
  sizes: bigint
  rooms: bigint
  outputs: bigint
  actual: bigint
  statuses: bigint
}

export interface NvcompCalls {
  /** 1000 · major + 100 · minor + patch. */
  readonly version: number
  /** Memory that it needs besides, for outputs of `largest` bytes at most and `total` together. */
  tempBytes(codec: NvcompCodec, count: number, largest: number, total: number, stream: bigint): number
  /** Puts it on the stream. */
  decompress(codec: NvcompCodec, tables: StreamTables, temp: bigint, tempBytes: number, stream: bigint): void
}

/** A library, or in tests what stands for it. */
export interface NativeLibrary {
  func(name: string, result: string, args: unknown[]): (...args: unknown[]) => unknown
}

export function bindNvcomp(library: NativeLibrary = loadLibrary('nvcomp') as NativeLibrary): NvcompCalls {
  const version = versionOf(library)
  const major = Math.floor(version / 1000)
  if (!NVCOMP_MAJORS.some(known => known === major)) {
    throw new MissingError(
      `nvCOMP ${nvcompVersion(version)} is installed, and only versions 4, 5 and 6 are known: ` +
        `pip install 'nvidia-libnvcomp-cu13<7', or leave it out: the CPU decompresses then`,
    )
  }
  const calls = new Map<string, (...args: unknown[]) => unknown>()
  const call = (codec: NvcompCodec, what: string, types: unknown[], args: unknown[]): void => {
    const name = `nvcompBatched${NVCOMP_CODECS[codec]}Decompress${what}`
    let bound = calls.get(name)
    if (bound === undefined) {
      bound = library.func(name, 'int', types)
      calls.set(name, bound)
    }
    check(name, bound(...args) as number)
  }
  const options = major === 4 ? [] : [OPTIONS]
  const optionTypes = major === 4 ? [] : [OPTIONS_TYPE]
  const sizeCall = { 4: 'GetTempSizeEx', 5: 'GetTempSizeAsync' }[major] ?? 'GetTempSize'
  return {
    version,
    tempBytes(codec, count, largest, total, stream) {
      const temp = new BigUint64Array(1)
      const types = ['size_t', 'size_t', ...optionTypes, 'void *', 'size_t']
      const args = [count, largest, ...options, temp, total]
      if (major < 6) call(codec, sizeCall, types, args)
      else call(codec, sizeCall, [...types, 'uint64_t'], [...args, stream])
      return Number(temp[0])
    },
    decompress(codec, { count, streams, sizes, rooms, outputs, actual, statuses }, temp, tempBytes, stream) {
      const address = 'uint64_t'
      call(
        codec,
        'Async',
        [
          ...[address, address, address, address, 'size_t', address, 'size_t', address],
          ...[...optionTypes, address, address],
        ],
        [streams, sizes, rooms, actual, count, temp, tempBytes, outputs, ...options, statuses, stream],
      )
    },
  }
}

export function versionOf(library: NativeLibrary): number {
  const properties = new Uint32Array(2) // nvcompProperties_t: version, version of CUDA's runtime
  check('nvcompGetProperties', library.func('nvcompGetProperties', 'int', ['void *'])(properties) as number)
  return properties[0]
}

/** 6.0.1 */
export function nvcompVersion(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor(version / 100) % 10}.${version % 100}`
}

function check(call: string, status: number): void {
  if (status !== 0) throw new CudaError(call, NVCOMP_STATUSES[status] ?? `nvCOMP status ${status}`)
}

/** The part of the driver that the decompressor uses. */
export interface DeviceAccess {
  allocate(bytes: number): bigint
  free(pointer: bigint): void
  upload(to: bigint, from: bigint, bytes: number, stream: bigint): void
  download(to: bigint, from: bigint, bytes: number, stream: bigint): void
  finishStream(stream: bigint): void
}

/** Decompresses in one stream, with memory of its own. */
export class Decompressor {
  // Each call waits for its end: nothing still uses them when they grow.
  private readonly table: DeviceMemory
  private readonly temp: DeviceMemory

  constructor(
    private readonly calls: NvcompCalls,
    private readonly driver: DeviceAccess,
    private readonly stream: bigint,
  ) {
    this.table = new DeviceMemory(driver)
    this.temp = new DeviceMemory(driver)
  }

  /**
   * Returns the numbers of the streams that were refused, or became too little; waits for that.
   *
   * The table, on both sides: u64[5][n], streams, sizes, rooms, outputs, and what came out; then i32[n], statuses.
   */
  decompress(codec: NvcompCodec, streams: readonly DeviceStream[]): number[] {
    const { calls, driver, stream } = this
    const count = streams.length
    const table = new BigUint64Array(5 * count + Math.ceil(count / 2))
    for (const [i, { from, bytes, to, size }] of streams.entries()) {
      table[i] = from
      table[count + i] = BigInt(bytes)
      table[2 * count + i] = BigInt(size)
      table[3 * count + i] = to
    }
    const at = this.table.atLeast(table.byteLength)
    const host = BigInt(koffi.address(table))
    const column = BigInt(count * 8)
    const [sizes, rooms, outputs, actual, statuses] = [1n, 2n, 3n, 4n, 5n].map(part => at + part * column)
    driver.upload(at, host, count * 32, stream)
    const largest = streams.reduce((most, { size }) => Math.max(most, size), 0)
    const total = streams.reduce((sum, { size }) => sum + size, 0)
    const tempBytes = calls.tempBytes(codec, count, largest, total, stream)
    const temp = tempBytes === 0 ? 0n : this.temp.atLeast(tempBytes)
    calls.decompress(
      codec,
      { count, streams: at, sizes, rooms, outputs, actual, statuses },
      temp,
      tempBytes,
      stream,
    )
    driver.download(host + 4n * column, actual, table.byteLength - count * 32, stream)
    driver.finishStream(stream)
    const status = new Int32Array(table.buffer, count * 40, count)
    return streams.flatMap(({ size }, i) =>
      status[i] !== 0 || table[4 * count + i] !== BigInt(size) ? [i] : [],
    )
  }

  close(): void {
    this.table.free()
    this.temp.free()
  }
}
