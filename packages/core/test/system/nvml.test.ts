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
import { cudaVersionText, openNvml } from '../../system/nvml/nvml.js'

const open = (functions: FakeFunctions) => {
  const nvml = openNvml(fakeNvml(functions))
  if (nvml === undefined) throw new Error('a library that is there gives no NVML')
  return nvml
}

it('versions of CUDA are told by text', () => {
  expect(cudaVersionText(13000)).toBe('13.0')
  expect(cudaVersionText(12090)).toBe('12.9')
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
      memory: 150_754_820_096,
      pcie: { generation: 5, width: 16 },
    })
  })

  it('is read', () => {
    expect(open(H200).read(0)).toEqual({
      index: 0,
      memory: { free: 150_000_000_000, used: 754_820_096 },
      utilization: 87,
      watts: 512.345,
      clockEvents: ['power cap'],
      pcie: { generation: 5, width: 16 },
    })
  })

  it('is asked with the handle that NVML gave for it, once', () => {
    const handles = new Set<bigint>()
    const library = fakeNvml({
      ...H200,
      nvmlDeviceGetPowerUsage: (device: bigint, to: Buffer) => {
        handles.add(device)
        return gives32(40)(to)
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
      nvmlDeviceGetPowerUsage: fails(4),
    })
    expect([nvml.driver, nvml.cuda]).toEqual(['', ''])
    expect(nvml.describe(0)).toMatchObject({ name: '', bus: '', memory: Number.NaN })
    const none = Number.NaN
    expect(nvml.read(0)).toEqual({
      index: 0,
      memory: { free: none, used: none },
      utilization: none,
      watts: none,
      clockEvents: [],
      pcie: { generation: none, width: none },
    })
  })

  it('tells its clock events under their old name, too', () => {
    const old = { ...H200, nvmlDeviceGetCurrentClocksThrottleReasons: gives64(0x20n) }
    delete old.nvmlDeviceGetCurrentClocksEventReasons
    expect(open(old).read(0).clockEvents).toEqual(['thermal slowdown'])
  })
})

describe('errors', () => {
  it('carry the name that NVML gives them, and what to do', () => {
    expect(() => open({ ...H200, nvmlInit_v2: fails(18) })).toThrow(
      /nvmlInit_v2 failed with NVML_ERROR_LIB_RM_VERSION_MISMATCH \(18\): .*restart the machine/,
    )
    expect(() => open(H200).read(5)).toThrow('NVML_ERROR_INVALID_ARGUMENT')
    const lost = open({ ...H200, nvmlDeviceGetMemoryInfo: fails(15) })
    expect(() => lost.read(0)).toThrow(/nvmlDeviceGetMemoryInfo .*GPU_IS_LOST/)
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
  })
})
