/** NVML of a made-up machine: functions that fill Buffers, as the real ones do, and a log of what was called. */
import type { NvmlArgument, NvmlFunction, NvmlLibrary } from '../../../packages/core/system/nvml/library.js'

export type FakeFunction = (...args: never[]) => number
export type FakeFunctions = Partial<Record<NvmlFunction, FakeFunction>>

export const FUNCTION_NOT_FOUND = 13

export interface FakeNvml extends NvmlLibrary {
  calls: string[]
}

export function fakeNvml(functions: FakeFunctions, texts: Record<string, string> = {}): FakeNvml {
  const calls: string[] = []
  return {
    calls,
    call(name, ...args) {
      calls.push(name)
      const found = functions[name] as ((...args: NvmlArgument[]) => number) | undefined
      return found === undefined ? FUNCTION_NOT_FOUND : found(...args)
    },
    text: address => texts[String(address)] ?? '',
  }
}

/** A function that gives a 32-bit number through its last argument. */
export const gives32 =
  (value: number) =>
  (...args: NvmlArgument[]): number => {
    ;(args.at(-1) as Buffer).writeUInt32LE(value)
    return 0
  }

export const gives64 =
  (...values: bigint[]) =>
  (...args: NvmlArgument[]): number => {
    values.forEach((value, i) => void (args.at(-1) as Buffer).writeBigUInt64LE(value, i * 8))
    return 0
  }

/** A function that writes a C string to the Buffer before its last argument, the room there is. */
export const givesText =
  (text: string) =>
  (...args: NvmlArgument[]): number => {
    const [to, room] = args.slice(-2) as [Buffer, number]
    if (text.length + 1 > room) return 7
    to.write(`${text}\0`)
    return 0
  }

export const fails = (code: number) => (): number => code

/** One GPU as an H200 tells about itself, busy, on a full PCIe link. */
export const H200: FakeFunctions = {
  nvmlInit_v2: () => 0,
  nvmlShutdown: () => 0,
  nvmlSystemGetDriverVersion: givesText('580.95.05'),
  nvmlSystemGetCudaDriverVersion_v2: gives32(13000),
  nvmlDeviceGetCount_v2: gives32(1),
  nvmlDeviceGetHandleByIndex_v2: (index: number, device: Buffer) => {
    if (index !== 0) return 2
    device.writeBigUInt64LE(0x7f00_dead_beefn)
    return 0
  },
  nvmlDeviceGetName: givesText('NVIDIA H200'),
  nvmlDeviceGetUUID: givesText('GPU-2f9b2a2c-0000-1111-2222-333344445555'),
  nvmlDeviceGetPciInfo_v3: (_: bigint, pci: Buffer) => {
    pci.write('0000:19:00.0\0', 0)
    pci.writeUInt32LE(0x19, 20)
    pci.write('00000000:19:00.0\0', 36)
    return 0
  },
  nvmlDeviceGetCudaComputeCapability: (_: bigint, major: Buffer, minor: Buffer) => {
    major.writeUInt32LE(9)
    minor.writeUInt32LE(0)
    return 0
  },
  nvmlDeviceGetCpuAffinity: (_: bigint, words: number, set: Buffer) => {
    if (set.length !== words * 8) return 2
    set[0] = 0b1010_0001
    set[12] = 1
    return 0
  },
  nvmlDeviceGetMemoryInfo: gives64(150_754_820_096n, 150_000_000_000n, 754_820_096n),
  nvmlDeviceGetUtilizationRates: gives64((31n << 32n) | 87n),
  nvmlDeviceGetDecoderUtilization: (_: bigint, percent: Buffer, period: Buffer) => {
    percent.writeUInt32LE(4)
    period.writeUInt32LE(167_000)
    return 0
  },
  nvmlDeviceGetJpgUtilization: (_: bigint, percent: Buffer, period: Buffer) => {
    percent.writeUInt32LE(63)
    period.writeUInt32LE(167_000)
    return 0
  },
  nvmlDeviceGetPowerUsage: gives32(512_345),
  nvmlDeviceGetEnforcedPowerLimit: gives32(700_000),
  nvmlDeviceGetTemperature: gives32(54),
  nvmlDeviceGetClockInfo: (_: bigint, clock: number, to: Buffer) => gives32(clock === 1 ? 1755 : 3201)(to),
  nvmlDeviceGetMaxClockInfo: (_: bigint, clock: number, to: Buffer) => gives32(clock === 1 ? 1980 : 3201)(to),
  nvmlDeviceGetCurrentClocksEventReasons: gives64(0b100n),
  nvmlDeviceGetCurrPcieLinkGeneration: gives32(5),
  nvmlDeviceGetCurrPcieLinkWidth: gives32(16),
  nvmlDeviceGetMaxPcieLinkGeneration: gives32(5),
  nvmlDeviceGetMaxPcieLinkWidth: gives32(16),
  nvmlDeviceGetPcieThroughput: (_: bigint, counter: number, to: Buffer) =>
    gives32(counter === 1 ? 900 : 40)(to),
  nvmlDeviceGetComputeRunningProcesses_v3: (_: bigint, count: Buffer, list: Buffer) => {
    count.writeUInt32LE(2)
    list.writeUInt32LE(4711, 0)
    list.writeBigUInt64LE(5n << 30n, 8)
    list.writeUInt32LE(4712, 24)
    list.writeBigUInt64LE(0xffff_ffff_ffff_ffffn, 32)
    return 0
  },
  nvmlGpmQueryDeviceSupport: (_: bigint, support: Buffer) => {
    if (support.readUInt32LE(0) !== 1) return 25
    support.writeUInt32LE(1, 4)
    return 0
  },
}
