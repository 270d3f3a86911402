/** Batches that are made on the device, through a loader, on a simulated GPU that does its work as late as it may. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { openSimulated } from '../../../../test/support/gpu/device-loader.js'
import { SimulatedGpu, type SimulatedKernel } from '../../../../test/support/gpu/simulated-gpu.js'
import type { FeedJson, KernelJson } from '../../../core/define/types.js'
import type { DeviceArray } from '../../../core/deliver/node/device.js'
import { open } from '../../../core/deliver/node/open.js'
import type { OpenOptions } from '../../../core/deliver/options.js'
import type { State } from '../../../core/order/state.js'
import { batchBytes } from '../../device/generate.js'

const folder = temporaryFolder()
writeFileSync(join(folder, 'gen.cu'), 'extern "C" __global__ void draw() {}')

const made: KernelJson = {
  file: 'gen.cu',
  entry: 'draw',
  count: 23,
  threads: 300,
  fields: {
    image: { dtype: 'f32', shape: [2, 3] },
    spare: { dtype: 'u8', shape: [5] },
    label: { dtype: 'i64', shape: [] },
  },
}

const feed = (change: object = {}): FeedJson =>
  ({
    source: { kernel: made },
    order: { shuffle: 'global', seed: 5 },
    fields: { image: { from: 'image' }, label: { from: 'label' } },
    batch: { size: 6, last: 'keep' },
    ...change,
  }) as unknown as FeedJson

/** Values that say for which epoch, position and row they are. */
const draw: SimulatedKernel = (gpu, blocks, [batch, image, spare, label]) => {
  const head = new DataView((batch as Uint8Array).slice().buffer)
  const [seed, epoch, positionsAt, rowsAt] = [0, 8, 16, 24].map(at => head.getBigUint64(at, true))
  const count = head.getInt32(32, true)
  expect([seed, blocks]).toEqual([5n, [2, count]])
  const positions = new BigInt64Array(gpu.at(positionsAt, count * 8).slice().buffer)
  const rows = new BigInt64Array(gpu.at(rowsAt, count * 8).slice().buffer)
  gpu.at(spare as bigint, 5 * count).fill(1)
  const pictures = Float32Array.from({ length: count * 6 }, (_, i) => {
    return Number(epoch) * 1e4 + Number(positions[Math.floor(i / 6)]) * 10 + (i % 6)
  })
  gpu.at(image as bigint, count * 24).set(new Uint8Array(pictures.buffer))
  gpu.at(label as bigint, count * 8).set(new Uint8Array(rows.buffer))
}

function gpuWith(kernel: SimulatedKernel = draw): SimulatedGpu {
  const gpu = new SimulatedGpu()
  gpu.kernels.set('draw', kernel)
  return gpu
}

async function rowsOf(options: OpenOptions = {}, loops = 1): Promise<string[]> {
  const gpu = gpuWith()
  const loader = openSimulated(feed(), gpu, options, folder)
  const out: string[] = []
  for (let loop = 0; loop < loops; loop++) {
    for await (const batch of loader) {
      const image = (await (batch.image as DeviceArray).copyToHost()) as Float32Array
      const label = (await (batch.label as DeviceArray).copyToHost()) as BigInt64Array
      expect((batch.image as DeviceArray).shape).toEqual([batch.count, 2, 3])
      expect([...label].map(String)).toEqual(batch.ids)
      for (let i = 0; i < batch.count; i++) {
        const expected = Array.from({ length: 6 }, (_, k) => batch.epoch * 1e4 + batch.positions[i] * 10 + k)
        expect([...image.subarray(i * 6, i * 6 + 6)]).toEqual(expected)
        out.push(`${batch.ids[i]}: ${expected[0]}`)
      }
    }
  }
  await loader.close()
  expect([gpu.allocations, gpu.closed]).toEqual([0, true])
  return out
}

describe('a kernel', () => {
  test('makes every row of two epochs, the same in another run and on two ranks', async () => {
    const whole = await rowsOf({}, 2)
    expect(new Set(whole).size).toBe(46)
    expect(await rowsOf({ workers: 0, depth: 2 }, 2)).toEqual(whole)
    const ranks = await Promise.all([0, 1].map(rank => rowsOf({ rank, world: 2 })))
    expect(ranks.flat().sort()).toEqual(whole.slice(0, 23).sort())
  })

  test('goes on from a state', async () => {
    const whole = await rowsOf()
    const loader = openSimulated(feed(), gpuWith(), {}, folder)
    let state: State | undefined
    for await (const batch of loader) {
      if (batch.step === 1) {
        state = loader.state()
        break
      }
    }
    await loader.close()
    expect(await rowsOf({ state })).toEqual(whole.slice(12))
  })

  test('that the file does not have is named', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu(), {}, folder)
    const first = async () => {
      for await (const _ of loader) break
    }
    await expect(first()).rejects.toThrow(/gen\.cu has no kernel "draw": declare it extern "C"/)
    await loader.close()
  })

  test('is refused where batches stay in host memory', async () => {
    await expect(open(feed(), { root: folder, workers: 0, allowCode: true }).ready).rejects.toThrow(
      'image, label are generated on the GPU: open it with device="cuda"',
    )
  })

  test('gets its batch as C has it', () => {
    const view = new DataView(batchBytes(2 ** 40 + 1, 3, 0x7f00n, 0x7f80n, 16).buffer)
    expect(view.byteLength).toBe(40)
    expect([0, 8, 16, 24].map(at => view.getBigUint64(at, true))).toEqual([
      2n ** 40n + 1n,
      3n,
      0x7f00n,
      0x7f80n,
    ])
    expect(view.getInt32(32, true)).toBe(16)
  })
})

describe('synthetic tensors', () => {
  test.each(['u8', 'i16', 'u32', 'i64', 'f16', 'f32', 'f64', 'bool'] as const)(
    '%s: on the device, byte for byte what the CPU makes',
    async dtype => {
      const json: FeedJson = {
        source: { synthetic: { count: 40, seed: 9, tensors: { shape: [3, 4], dtype } } },
        order: { shuffle: 'global', seed: 3 },
        fields: { x: { from: 'data', as: 'npy', dtype, shape: [3, 4] } },
        batch: { size: 16, last: 'keep' },
      }
      const expected: Uint8Array[] = []
      const host = open(json, { workers: 0 })
      for await (const batch of host) expected.push(bytesOf(batch.x as Uint8Array).slice())
      await host.close()
      const gpu = new SimulatedGpu()
      const loader = openSimulated(json, gpu)
      const found: Uint8Array[] = []
      for await (const batch of loader) found.push(bytesOf(await (batch.x as DeviceArray).copyToHost()))
      await loader.close()
      expect(found).toEqual(expected)
      expect(gpu.log.filter(line => line.startsWith('synthetic')).length).toBeGreaterThanOrEqual(3)
      expect(gpu.allocations).toBe(0)
    },
  )
})

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
