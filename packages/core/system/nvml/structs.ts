/**
 * The structs of nvml.h, as bytes: pure functions between Buffers and plain data. Little-endian, C alignment on
 * 64-bit machines. Counts of bytes become JavaScript numbers, exact up to 2⁵³.
 */

export interface GpuMemory {
  total: number
  free: number
  /** What the driver keeps for itself is counted as used. */
  used: number
}

/** nvmlMemory_t: u64 total, free, used. */
export const MEMORY_BYTES = 24

export function decodeMemory(struct: Buffer): GpuMemory {
  return { total: u64(struct, 0), free: u64(struct, 8), used: u64(struct, 16) }
}

/** nvmlPciInfo_t: char busIdLegacy[16], u32 domain, bus, device, pciDeviceId, pciSubSystemId, char busId[32]. */
export const PCI_BYTES = 68

/** `00000000:19:00.0`. */
export function decodeBusId(struct: Buffer): string {
  return cString(struct.subarray(36, PCI_BYTES))
}

export interface GpuProcess {
  pid: number
  /** Bytes of device memory; NaN where the driver does not tell, as in some containers. */
  bytes: number
}

/** nvmlProcessInfo_v2_t: u32 pid, 4 bytes of nothing, u64 usedGpuMemory, u32 gpuInstanceId, computeInstanceId. */
export const PROCESS_BYTES = 24
const NOT_AVAILABLE = 0xffff_ffff_ffff_ffffn

export function decodeProcesses(structs: Buffer, count: number): GpuProcess[] {
  return Array.from({ length: count }, (_, i) => {
    const bytes = structs.readBigUInt64LE(i * PROCESS_BYTES + 8)
    return {
      pid: structs.readUInt32LE(i * PROCESS_BYTES),
      bytes: bytes === NOT_AVAILABLE ? Number.NaN : Number(bytes),
    }
  })
}

/** Bits of nvmlClocksEventReasons, in order; the names are ours. */
const CLOCK_EVENTS = [
  'idle',
  'clocks set by the user',
  'power cap',
  'hardware slowdown',
  'sync boost',
  'thermal slowdown',
  'hardware thermal slowdown',
  'power brake',
  'display clocks',
] as const

export type ClockEvent = (typeof CLOCK_EVENTS)[number]

/** Why the clocks are not at their highest: nothing known means nothing holds them back. */
export function decodeClockEvents(mask: Buffer): ClockEvent[] {
  const bits = mask.readBigUInt64LE()
  return CLOCK_EVENTS.filter((_, bit) => (bits >> BigInt(bit)) & 1n)
}

/** Numbers of the cores in a set of bits. */
export function decodeCores(set: Buffer): number[] {
  return [...set].flatMap((byte, i) =>
    Array.from({ length: 8 }, (_, bit) => i * 8 + bit).filter(core => (byte >> (core & 7)) & 1),
  )
}

/** 13020 → `13.2`. */
export function cudaVersionText(version: number): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`
}

export function cString(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end)
}

function u64(struct: Buffer, offset: number): number {
  return Number(struct.readBigUInt64LE(offset))
}
