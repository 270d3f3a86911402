/** The driver's wrapper over a record of calls: arguments, checks, and errors that say what to do. */
import { describe, expect, test } from 'vitest'
import { MissingError } from '../../../core/basics/errors.js'
import { CudaDevice } from '../../driver/device.js'
import { Driver } from '../../driver/driver.js'
import type { Argument, DriverCalls } from '../../driver/driver-calls.js'
import { CudaError } from '../../driver/errors.js'

type Answer = (args: Argument[]) => number | undefined

/** Records calls; answers write results into the Buffers that they are given. */
function recorded(answers: Record<string, Answer> = {}): {
  driver: Driver
  bound: DriverCalls
  calls: [string, ...Argument[]][]
} {
  const calls: [string, ...Argument[]][] = []
  const texts = {
    errorName: (status: number) => NAMES[status],
    errorText: (status: number) => `text ${status}`,
  }
  const table = new Proxy(texts, {
    get: (known, name: string) =>
      name in known
        ? known[name as keyof typeof known]
        : (...args: Argument[]) => {
            calls.push([name, ...args.map(arg => (arg instanceof Uint8Array ? Buffer.from(arg) : arg))])
            return answers[name]?.(args) ?? 0
          },
  })
  const bound = table as unknown as DriverCalls
  return { driver: new Driver(bound), bound, calls }
}

const NAMES: Record<number, string> = {
  2: 'CUDA_ERROR_OUT_OF_MEMORY',
  100: 'CUDA_ERROR_NO_DEVICE',
  201: 'CUDA_ERROR_INVALID_CONTEXT',
  803: 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH',
}

const int =
  (value: number): Answer =>
  ([out]) => {
    ;(out as Buffer).writeInt32LE(value)
    return 0
  }
const handle =
  (value: bigint): Answer =>
  ([out]) => {
    ;(out as Buffer).writeBigUInt64LE(value)
    return 0
  }

describe('devices', () => {
  test('their facts', () => {
    const attributes: Record<number, number> = { 16: 132, 75: 9, 76: 0 }
    const { driver } = recorded({
      cuDeviceGetCount: int(2),
      cuDeviceGet: args => int(Number(args[1]) + 40)(args),
      cuDeviceGetName: args => {
        ;(args[0] as Buffer).write('NVIDIA H200\0')
        expect(args.slice(1)).toEqual([256, 41])
        return 0
      },
      cuDeviceGetAttribute: args => int(attributes[Number(args[1])])(args),
    })
    expect(driver.device(1)).toEqual({
      handle: 41,
      facts: { ordinal: 1, name: 'NVIDIA H200', multiprocessors: 132, architecture: 'sm_90' },
    })
    expect(() => driver.device(2)).toThrow(MissingError)
    expect(() => driver.device(2)).toThrow('there is no device cuda:2: 2 GPUs are visible, counted from 0')
  })

  test('one that is opened has the primary context, its lanes a stream each, and gives all back', () => {
    const { bound, calls } = recorded({
      cuDriverGetVersion: int(13000),
      cuDeviceGetCount: int(1),
      cuDeviceGet: int(40),
      cuDeviceGetName: ([name]) => void (name as Buffer).write('NVIDIA H200\0'),
      cuDeviceGetAttribute: int(9),
      cuDevicePrimaryCtxRetain: handle(0xc0n),
      cuCtxGetCurrent: handle(0xc1n),
      cuStreamCreateWithPriority: handle(0xbeefn),
    })
    const device = CudaDevice.open(0, '/tmp', () => bound)
    expect(device.facts).toMatchObject({ ordinal: 0, name: 'NVIDIA H200' })
    const opened = calls.map(([name]) => name)
    expect([opened[0], ...opened.slice(-2)]).toEqual([
      'cuInit',
      'cuDevicePrimaryCtxRetain',
      'cuCtxSetCurrent',
    ])
    expect(calls.at(-1)).toEqual(['cuCtxSetCurrent', 0xc0n])
    device.enter()
    expect(calls.at(-1)).toEqual(['cuCtxSetCurrent', 0xc0n])
    const lane = device.lane()
    lane.upload(1n, 2n, 3)
    device.lock(0x1000n, 4096)
    const before = calls.length
    device.close()
    expect(calls.slice(before - 2).map(([name]) => name)).toEqual([
      'cuMemcpyHtoDAsync_v2',
      'cuMemHostRegister_v2',
      'cuStreamSynchronize',
      'cuStreamDestroy_v2',
      'cuCtxSetCurrent',
      'cuDevicePrimaryCtxRelease_v2',
    ])
    expect(calls.at(-1)).toEqual(['cuDevicePrimaryCtxRelease_v2', 40])
  })
})

describe('streams and events', () => {
  test('a stream has the highest priority, which is the least number, and ignores the default stream', () => {
    const { driver, calls } = recorded({
      cuCtxGetStreamPriorityRange: ([least, greatest]) => {
        ;(least as Buffer).writeInt32LE(0)
        ;(greatest as Buffer).writeInt32LE(-5)
        return 0
      },
      cuStreamCreateWithPriority: handle(0xbeefn),
    })
    expect(driver.stream()).toBe(0xbeefn)
    expect(calls[1].slice(2)).toEqual([1, -5])
  })

  test('an event that is not ready is no error', () => {
    let status = 600
    const { driver } = recorded({ cuEventQuery: () => status })
    expect(driver.done(1n)).toBe(false)
    status = 0
    expect(driver.done(1n)).toBe(true)
    status = 201
    expect(() => driver.done(1n)).toThrow(/cuEventQuery: CUDA_ERROR_INVALID_CONTEXT/)
  })

  test('order of arguments', () => {
    const { driver, calls } = recorded({ cuEventCreate: handle(9n) })
    expect(driver.event()).toBe(9n)
    driver.record(9n, 7n)
    driver.waitInStream(7n, 9n)
    driver.upload(1n, 2n, 3, 7n)
    driver.download(1n, 2n, 3, 7n)
    driver.fill(1n, 0, 3, 7n)
    driver.lock(0x1000n, 65536)
    expect(calls.slice(1)).toEqual([
      ['cuEventRecord', 9n, 7n],
      ['cuStreamWaitEvent', 7n, 9n, 0],
      ['cuMemcpyHtoDAsync_v2', 1n, 2n, 3, 7n],
      ['cuMemcpyDtoHAsync_v2', 1n, 2n, 3, 7n],
      ['cuMemsetD8Async', 1n, 0, 3, 7n],
      ['cuMemHostRegister_v2', 0x1000n, 65536, 1],
    ])
  })
})

test('a launch: grid, block, and arguments that their pointers lead to', () => {
  const { driver, calls } = recorded()
  driver.launch(5n, { grid: [16], block: [512] }, [0x700n, 42], 7n)
  const [name, ...args] = calls[0]
  expect([name, ...args.slice(0, 9)]).toEqual(['cuLaunchKernel', 5n, 16, 1, 1, 512, 1, 1, 0, 7n])
  const packed = args[9] as Buffer
  const first = packed.readBigUInt64LE(0)
  expect(packed.readBigUInt64LE(8) - first).toBe(16n)
  expect(packed.readBigUInt64LE(16)).toBe(0x700n)
  expect(packed.readInt32LE(32)).toBe(42)
  expect(args[10]).toBe(null)
})

describe('errors', () => {
  test('a driver without a GPU is missing something', () => {
    const { driver } = recorded({ cuInit: () => 100 })
    expect(() => driver.begin()).toThrow(MissingError)
    expect(() => driver.begin()).toThrow(/no GPU: cuInit: CUDA_ERROR_NO_DEVICE: .*--gpus all/)
    expect(() => recorded({ cuInit: () => 803 }).driver.begin()).toThrow(/SYSTEM_DRIVER_MISMATCH/)
  })

  test.each([
    [
      2,
      /cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY \(text 2\): the GPU has no memory left; lower the batch size/,
    ],
    [100, /CUDA_ERROR_NO_DEVICE.*CUDA_VISIBLE_DEVICES/],
    [201, /CUDA_ERROR_INVALID_CONTEXT.*cudaDeviceReset/],
    [803, /CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.*reboot/],
  ])('%i', (status, message) => {
    const { driver } = recorded({ cuMemAlloc_v2: () => status })
    expect(() => driver.allocate(10)).toThrow(CudaError)
    expect(() => driver.allocate(10)).toThrow(message)
  })
})
