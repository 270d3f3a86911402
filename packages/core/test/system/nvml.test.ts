/** NVML without a GPU: the bytes of its structs, what becomes of them, and what happens where it is missing. */
import { describe, expect, it } from 'vitest'
import {
  type FakeFunctions,
  fails,
  fakeNvml,
  gives32,
  gives64,
  H200,
} from '../../../../test/support/gpu/fake-nvml.js'
import { loadNvml, NvmlError, statusName } from '../../system/nvml/library.js'
import { openNvml } from '../../system/nvml/nvml.js'
import * as structs from '../../system/nvml/structs.js'

const open = (functions: FakeFunctions) => {
  const nvml = openNvml(fakeNvml(functions))
  if (nvml === undefined) throw new Error('a library that is there gives no NVML')
  return nvml
}

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex')

describe('structs', () => {
  it('nvmlMemory_t', () => {
    const struct = hex('0000000040010000 0000000030010000 0000000010000000')
    expect(struct.length).toBe(structs.MEMORY_BYTES)
    expect(structs.decodeMemory(struct)).toEqual({
      total: 0x140_0000_0000,
      free: 0x130_0000_0000,
      used: 0x10_0000_0000,
    })
  })

  it('nvmlPciInfo_t', () => {
    const struct = Buffer.alloc(structs.PCI_BYTES, 0xff)
    struct.write('0000:19:00.0\0', 0)
    struct.write('0000000A:19:00.0\0', 36)
    expect(structs.decodeBusId(struct)).toBe('0000000A:19:00.0')
    // Full to the last byte, without the zero that should end it.
    expect(structs.decodeBusId(Buffer.alloc(structs.PCI_BYTES, 'x'))).toBe('x'.repeat(32))
  })

  it('nvmlProcessInfo_t', () => {
    const list = hex(`
      67120000 00000000 0000004001000000 ffffffff ffffffff
      68120000 00000000 ffffffffffffffff ffffffff ffffffff`)
    expect(structs.decodeProcesses(list, 2)).toEqual([
      { pid: 0x1267, bytes: 5 * 2 ** 30 },
      { pid: 0x1268, bytes: Number.NaN },
    ])
    expect(structs.decodeProcesses(list, 0)).toEqual([])
  })

  it('clock events, also those that are newer than we are', () => {
    const events = (mask: bigint) => {
      const struct = Buffer.alloc(8)
      struct.writeBigUInt64LE(mask)
      return structs.decodeClockEvents(struct)
    }
    expect(events(0n)).toEqual([])
    expect(events(1n)).toEqual(['idle'])
    expect(events(0x4n | 0x40n | 0x100n)).toEqual([
      'power cap',
      'hardware thermal slowdown',
      'display clocks',
    ])
    expect(events(0x80n | (1n << 60n))).toEqual(['power brake'])
  })

  it('sets of cores', () => {
    expect(structs.decodeCores(hex('03 00 80 ff'))).toEqual([0, 1, 23, 24, 25, 26, 27, 28, 29, 30, 31])
    expect(structs.decodeCores(Buffer.alloc(1024))).toEqual([])
  })

  it('versions of CUDA', () => {
    expect(structs.cudaVersionText(13000)).toBe('13.0')
    expect(structs.cudaVersionText(12090)).toBe('12.9')
  })
})

describe('a GPU', () => {
  it('is described', () => {
    const nvml = open(H200)
    expect([nvml.driver, nvml.cuda, nvml.count]).toEqual(['580.95.05', '13.0', 1])
    expect(nvml.describe(0)).toEqual({
      index: 0,
      name: 'NVIDIA H200',
      uuid: 'GPU-2f9b2a2c-0000-1111-2222-333344445555',
      bus: '00000000:19:00.0',
      capability: '9.0',
      memory: 150_754_820_096,
      cores: [0, 5, 7, 96],
      pcie: { generation: 5, width: 16 },
      clocks: { sm: 1980, memory: 3201 },
    })
  })

  it('is read', () => {
    expect(open(H200).read(0)).toEqual({
      index: 0,
      memory: { total: 150_754_820_096, free: 150_000_000_000, used: 754_820_096 },
      utilization: { gpu: 87, memory: 31, decoder: 4, jpeg: 63 },
      power: { now: 512.345, limit: 700 },
      temperature: 54,
      clocks: { sm: 1755, memory: 3201 },
      clockEvents: ['power cap'],
      pcie: { generation: 5, width: 16 },
      processes: [
        { pid: 4711, bytes: 5 * 2 ** 30 },
        { pid: 4712, bytes: Number.NaN },
      ],
    })
    expect(open(H200).pcieThroughput(0)).toEqual({ received: 900_000, sent: 40_000 })
  })

  it('is asked with the handle that NVML gave for it, once', () => {
    const handles = new Set<bigint>()
    const library = fakeNvml({
      ...H200,
      nvmlDeviceGetTemperature: (device: bigint, sensor: number, to: Buffer) => {
        handles.add(device)
        return sensor === 0 ? gives32(40)(to) : 2
      },
    })
    const nvml = openNvml(library)
    nvml?.read(0)
    nvml?.read(0)
    expect([...handles]).toEqual([0x7f00_dead_beefn])
    expect(library.calls.filter(name => name === 'nvmlDeviceGetHandleByIndex_v2')).toHaveLength(1)
    nvml?.close()
    expect(library.calls.at(-1)).toBe('nvmlShutdown')
  })

  it('lacks what card, driver or rights do not give', () => {
    const nvml = open({
      nvmlInit_v2: () => 0,
      nvmlDeviceGetHandleByIndex_v2: H200.nvmlDeviceGetHandleByIndex_v2,
      nvmlDeviceGetTemperature: fails(3),
      nvmlDeviceGetPowerUsage: fails(4),
    })
    expect([nvml.driver, nvml.cuda]).toEqual(['', ''])
    expect(nvml.describe(0)).toMatchObject({ name: '', capability: '', memory: Number.NaN, cores: [] })
    const none = Number.NaN
    expect(nvml.read(0)).toEqual({
      index: 0,
      memory: { total: none, free: none, used: none },
      utilization: { gpu: none, memory: none, decoder: none, jpeg: none },
      power: { now: none, limit: none },
      temperature: none,
      clocks: { sm: none, memory: none },
      clockEvents: [],
      pcie: { generation: none, width: none },
      processes: [],
    })
  })

  it('tells its clock events under their old name, too', () => {
    const old = { ...H200, nvmlDeviceGetCurrentClocksThrottleReasons: gives64(0x20n) }
    delete old.nvmlDeviceGetCurrentClocksEventReasons
    expect(open(old).read(0).clockEvents).toEqual(['thermal slowdown'])
  })

  it('may have more processes than we made room for', () => {
    const rooms: number[] = []
    const nvml = open({
      ...H200,
      nvmlDeviceGetComputeRunningProcesses_v3: (_: bigint, count: Buffer, list: Buffer) => {
        rooms.push(count.readUInt32LE())
        expect(list.length).toBe(count.readUInt32LE() * 24)
        if (count.readUInt32LE() < 40) return 7
        count.writeUInt32LE(40)
        for (let i = 0; i < 40; i++) list.writeUInt32LE(i + 1, i * 24)
        return 0
      },
    })
    expect(nvml.read(0).processes.map(({ pid }) => pid)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
    expect(rooms).toEqual([16, 32, 64])
  })
})

describe('errors', () => {
  it('carry the name that NVML gives them, and what to do', () => {
    expect(() => open({ ...H200, nvmlInit_v2: fails(18) })).toThrow(
      /nvmlInit_v2 failed with NVML_ERROR_LIB_RM_VERSION_MISMATCH \(18\): .*restart the machine/,
    )
    expect(() => open(H200).read(5)).toThrow('NVML_ERROR_INVALID_ARGUMENT')
    const lost = open({ ...H200, nvmlDeviceGetComputeRunningProcesses_v3: fails(15) })
    expect(() => lost.read(0)).toThrow(/nvmlDeviceGetComputeRunningProcesses_v3 .*GPU_IS_LOST/)
    expect(() => open({ ...H200, nvmlDeviceGetPowerUsage: fails(999) }).read(0)).toThrow(NvmlError)
  })

  it('have their numbers', () => {
    const names = [0, 1, 7, 9, 13, 18, 25, 30, 999].map(statusName)
    expect(names).toEqual([
      'NVML_SUCCESS',
      'NVML_ERROR_UNINITIALIZED',
      'NVML_ERROR_INSUFFICIENT_SIZE',
      'NVML_ERROR_DRIVER_NOT_LOADED',
      'NVML_ERROR_FUNCTION_NOT_FOUND',
      'NVML_ERROR_LIB_RM_VERSION_MISMATCH',
      'NVML_ERROR_ARGUMENT_VERSION_MISMATCH',
      'NVML_ERROR_RESET_TYPE_NOT_SUPPORTED',
      'NVML_ERROR_UNKNOWN',
    ])
  })
})

describe('the library', () => {
  it('is undefined where it is not installed', () => {
    expect(loadNvml('libnvidia-ml-of-nowhere.so.1')).toBeUndefined()
    expect(openNvml(loadNvml('libnvidia-ml-of-nowhere.so.1'))).toBeUndefined()
  })

  it('lacks functions without failing', () => {
    // The C library stands in for a driver so old that it has none of them.
    const old = loadNvml('libc.so.6') ?? loadNvml('libc.musl-x86_64.so.1')
    expect(old?.call('nvmlGpmSampleAlloc', Buffer.alloc(8))).toBe(13)
    expect(() => openNvml(old)).toThrow('NVML_ERROR_FUNCTION_NOT_FOUND')
    expect(old?.text(0n)).toBe('')
  })
})
