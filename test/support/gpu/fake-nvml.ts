/** NVML of a made-up machine: functions that fill Buffers, as the real ones do, and a log of what was called. */
import type { NvmlArgument, NvmlFunction, NvmlLibrary } from '../../../packages/core/system/nvml/library.js'

export type FakeFunction = (...args: never[]) => number
export type FakeFunctions = Partial<Record<NvmlFunction, FakeFunction>>

export const FUNCTION_NOT_FOUND = 13

export interface FakeNvml extends NvmlLibrary {
  calls: string[]
}

export function fakeNvml(functions: FakeFunctions): FakeNvml {
  const calls: string[] = []
  return {
    calls,
    call(name, ...args) {
      calls.push(name)
      const found = functions[name] as ((...args: NvmlArgument[]) => number) | undefined
      return found === undefined ? FUNCTION_NOT_FOUND : found(...args)
    },
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
  nvmlDeviceGetMemoryInfo: gives64(150_754_820_096n, 150_000_000_000n, 754_820_096n),
  nvmlDeviceGetUtilizationRates: gives64((31n << 32n) | 87n),
  nvmlDeviceGetPowerUsage: gives32(512_345),
  nvmlDeviceGetCurrentClocksEventReasons: gives64(0b100n),
  nvmlDeviceGetCurrPcieLinkGeneration: gives32(5),
  nvmlDeviceGetCurrPcieLinkWidth: gives32(16),
  nvmlDeviceGetMaxPcieLinkGeneration: gives32(5),
  nvmlDeviceGetMaxPcieLinkWidth: gives32(16),
  nvmlGpmQueryDeviceSupport: (_: bigint, support: Buffer) => {
    if (support.readUInt32LE(0) !== 1) return 25
    support.writeUInt32LE(1, 4)
    return 0
  },
}
