/** GPM without a GPU: the struct's bytes, and readings from sample to sample. */
import { describe, expect, it } from 'vitest'
import { type FakeFunctions, fails, fakeNvml, H200 } from '../../../../test/support/gpu/fake-nvml.js'
import {
  decodeMetricsGet,
  encodeMetricsGet,
  GPM_METRICS,
  GpmSampler,
  gpmSupported,
} from '../../system/nvml/gpm.js'
import { Nvml } from '../../system/nvml/nvml.js'

describe('nvmlGpmMetricsGet_t', () => {
  it('is encoded byte by byte', () => {
    const struct = encodeMetricsGet(0x1111_2222_3333_4444n, 0x5555_6666_7777_8888n, [2, 21])
    const header = '01000000 02000000 4444333322221111 8888777766665555'
    const first = `02000000 00000000 ${'00'.repeat(32)}`
    const second = `15000000 00000000 ${'00'.repeat(32)}`
    const written = (header + first + second).replaceAll(' ', '')
    expect(struct.subarray(0, written.length / 2).toString('hex')).toBe(written)
    expect(struct.subarray(written.length / 2).every(byte => byte === 0)).toBe(true)
    // The largest that nvml.h ever declared has room for 333 metrics of 40 bytes.
    expect(struct.length).toBeGreaterThanOrEqual(24 + 333 * 40)
  })

  it('is decoded byte by byte', () => {
    const struct = Buffer.from(
      (
        '01000000 02000000 0000000000000000 0000000000000000' +
        '02000000 00000000 0000000000405840 1000000000000000 2000000000000000 3000000000000000' +
        '15000000 03000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000'
      ).replaceAll(' ', ''),
      'hex',
    )
    expect(decodeMetricsGet(struct)).toEqual([
      { id: 2, status: 0, value: 97, shortName: 16n, longName: 32n, unit: 48n },
      { id: 21, status: 3, value: 0, shortName: 0n, longName: 0n, unit: 0n },
    ])
  })
})

/** A driver that counts: each sample is the number of the time it was taken; a metric is twice its id. */
function driver(without: readonly number[] = []) {
  const samples = new Map<bigint, number>()
  const pairs: [number, number][] = []
  let taken = 0
  const functions: FakeFunctions = {
    ...H200,
    nvmlGpmSampleAlloc: (to: Buffer) => {
      const handle = BigInt(0x1000 + samples.size * 16)
      samples.set(handle, 0)
      to.writeBigUInt64LE(handle)
      return 0
    },
    nvmlGpmSampleFree: (sample: bigint) => (samples.delete(sample) ? 0 : 2),
    nvmlGpmSampleGet: (device: bigint, sample: bigint) => {
      if (device !== 0x7f00_dead_beefn || !samples.has(sample)) return 2
      samples.set(sample, ++taken)
      return 0
    },
    nvmlGpmMetricsGet: (struct: Buffer) => {
      if (struct.readUInt32LE(0) !== 1) return 25
      const at = (offset: number) => samples.get(struct.readBigUInt64LE(offset)) ?? Number.NaN
      pairs.push([at(8), at(16)])
      for (let i = 0; i < struct.readUInt32LE(4); i++) {
        const id = struct.readUInt32LE(24 + i * 40)
        struct.writeInt32LE(without.includes(id) ? 3 : 0, 28 + i * 40)
        struct.writeDoubleLE(id * 2, 32 + i * 40)
      }
      return 0
    },
  }
  return { samples, pairs, functions }
}

const nvmlOf = (functions: FakeFunctions) => new Nvml(fakeNvml(functions))

describe('the sampler', () => {
  it('reads what changed since the last reading', () => {
    const { functions, pairs, samples } = driver([36, 37, 47, GPM_METRICS.fp16])
    let now = 1000
    const sampler = new GpmSampler(nvmlOf(functions), 0, () => now)
    now += 250
    expect(sampler.read()).toEqual({
      seconds: 0.25,
      engines: 2,
      sm: 4,
      occupancy: 6,
      tensor: 10,
      dram: 20,
      fp32: 24,
      fp16: Number.NaN,
      decoders: [60, 62, 64, 66, 68, 70],
      jpegEngines: [80, 82, 84, 86, 88, 90, 92],
      pcieSent: 40 * 2 ** 20,
      pcieReceived: 42 * 2 ** 20,
    })
    now += 1000
    expect(sampler.read()?.seconds).toBe(1)
    now += 100
    expect(sampler.metrics([7])).toMatchObject({ seconds: 0.1, list: [{ id: 7, value: 14 }] })
    expect(pairs).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
    ])
    sampler.close()
    expect(samples.size).toBe(0)
  })

  it('gives nothing for less than 100 ms, and loses nothing by having been asked', () => {
    const { functions, pairs } = driver()
    let now = 0
    const sampler = new GpmSampler(nvmlOf(functions), 0, () => now)
    now = 99
    expect(sampler.read()).toBeUndefined()
    now = 150
    expect(sampler.read()?.seconds).toBe(0.15)
    expect(pairs).toEqual([[1, 2]])
  })

  it('is for GPUs that have the counters', () => {
    const without = (support: FakeFunctions) => nvmlOf({ ...driver().functions, ...support })
    const unsupported = without({ nvmlGpmQueryDeviceSupport: () => 0 })
    expect(gpmSupported(unsupported, 0)).toBe(false)
    expect(() => new GpmSampler(unsupported, 0)).toThrow('NVML_ERROR_NOT_SUPPORTED')
    expect(gpmSupported(nvmlOf({ ...H200, nvmlGpmQueryDeviceSupport: undefined }), 0)).toBe(false)
    expect(gpmSupported(nvmlOf(H200), 0)).toBe(true)
  })

  it('frees its samples when the counters are not for this user', () => {
    const { functions, samples } = driver()
    const nvml = nvmlOf({ ...functions, nvmlGpmSampleGet: fails(4) })
    expect(() => new GpmSampler(nvml, 0)).toThrow(/nvmlGpmSampleGet failed with NVML_ERROR_NO_PERMISSION/)
    expect(samples.size).toBe(0)
  })
})
