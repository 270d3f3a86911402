/** GPM without a GPU: the struct's bytes, and readings from sample to sample. */
import { describe, expect, it } from 'vitest'
import { type FakeFunctions, fails, fakeNvml, H200 } from '../../../../test/support/gpu/fake-nvml.js'
import { GpmSampler, gpmSupported } from '../../system/nvml/gpm.js'
import { Nvml } from '../../system/nvml/nvml.js'

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
      // The largest that nvml.h ever declared has room for 333 metrics of 40 bytes.
      if (struct.readUInt32LE(0) !== 1 || struct.length < 24 + 333 * 40) return 25
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
    const { functions, pairs, samples } = driver()
    let now = 1000
    const sampler = new GpmSampler(nvmlOf(functions), 0, () => now)
    now += 250
    expect(sampler.read()).toEqual({ seconds: 0.25, engines: 2, sm: 4 })
    now += 1000
    expect(sampler.read()?.seconds).toBe(1)
    now += 100
    expect(sampler.read()).toEqual({ seconds: 0.1, engines: 2, sm: 4 })
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

  it('gives NaN for a counter that this GPU has not', () => {
    let now = 0
    const sampler = new GpmSampler(nvmlOf(driver([2]).functions), 0, () => now)
    now = 200
    expect(sampler.read()).toEqual({ seconds: 0.2, engines: 2, sm: Number.NaN })
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
