/** Compressed arrays on a device that is simulated, through a loader as users have it. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { openSimulated } from '../../../../test/support/gpu/device-loader.js'
import { SimulatedGpu } from '../../../../test/support/gpu/simulated-gpu.js'
import { tarFile } from '../../../../test/support/tar.js'
import type { Compression, FeedJson } from '../../../core/define/types.js'
import type { DeviceArray } from '../../../core/deliver/node/device.js'
import { open } from '../../../core/deliver/node/open.js'

const folder = temporaryFolder()
const COUNT = 11
const SHAPE = [32, 16, 16]
const SIZE = 32 * 16 * 16 * 4
const PACKS = { deflate: deflateRawSync, zlib: deflateSync, gzip: gzipSync }

const array = (i: number): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: SIZE / 4 }, (_, j) => Math.round(j / (3 + i)) + i).buffer)

/** Row 4 is a .npy file, row 7 is damaged where only decompressing shows it, row 9 has no bytes at all. */
function stored(i: number, pack: (data: Uint8Array) => Uint8Array): Uint8Array {
  const head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${SHAPE.join(', ')}), }`.padEnd(117)
  const npy = Buffer.concat([Buffer.from(`\x93NUMPY\x01\x00v\x00${head}\n`, 'latin1'), array(i)])
  if (i === 9) return new Uint8Array(0)
  const packed = pack(i === 4 ? npy : array(i))
  if (i === 7) packed.fill(255, packed.length >> 1, (packed.length >> 1) + 30)
  return packed
}

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const [codec, pack] of Object.entries(PACKS)) {
    const entries = Array.from({ length: COUNT }, (_, i) => [
      { name: `s${String(i).padStart(3, '0')}.bin`, data: stored(i, pack) },
      { name: `s${String(i).padStart(3, '0')}.cls`, data: String(i) },
    ])
    writeFileSync(join(folder, `${codec}.tar`), tarFile(entries.flat()))
  }
})

function feed(compression: Compression, policy: 'drop' | 'mask' | 'fail'): FeedJson {
  return {
    source: { tar: join(folder, `${compression}.tar`) },
    fields: {
      x: { from: 'bin', as: 'npy', dtype: 'f32', shape: SHAPE, compression },
      label: { from: 'cls', as: 'int', dtype: 'i32' },
    },
    batch: { size: 4, last: 'keep' },
    onError: policy,
  }
}

interface Seen {
  ids: string[]
  valid: number[]
  x: Uint8Array
  label: number[]
}

async function onHost(json: FeedJson): Promise<Seen[]> {
  const seen: Seen[] = []
  for await (const batch of open(json, { workers: 0 })) {
    const x = batch.x as Float32Array
    const label = [...(batch.label as Int32Array)]
    seen.push({ ids: batch.ids, valid: [...batch.valid], x: new Uint8Array(x.slice().buffer), label })
  }
  return seen
}

function simulated(nvcomp = true): SimulatedGpu {
  const gpu = new SimulatedGpu()
  if (nvcomp) gpu.nvcomp = 'nvCOMP 0.0.0'
  return gpu
}

async function onDevice(json: FeedJson, gpu: SimulatedGpu): Promise<Seen[]> {
  const seen: Seen[] = []
  const loader = openSimulated(json, gpu, { decode: 'gpu' })
  for await (const batch of loader) {
    const x = batch.x as DeviceArray
    expect(x.shape).toEqual([batch.count, ...SHAPE])
    const bytes = (await x.copyToHost()) as Float32Array
    const label = [...((await (batch.label as DeviceArray).copyToHost()) as Int32Array)]
    const copy = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice()
    seen.push({ ids: batch.ids, valid: [...batch.valid], x: copy, label })
  }
  await loader.close()
  expect(gpu.allocations).toBe(0)
  return seen
}

describe.each(['deflate', 'zlib', 'gzip'] as const)('%s', compression => {
  test.each(['drop', 'mask'] as const)('comes out as on the host, bad rows included (%s)', async policy => {
    const json = feed(compression, policy)
    const gpu = simulated()
    expect(await onDevice(json, gpu)).toEqual(await onHost(json))
    const calls = gpu.log.filter(line => line.startsWith('decompress'))
    // Of the second batch one row is a .npy file, which the maker does; one is refused, and bad: then it is begun again.
    expect(calls).toEqual(expect.arrayContaining([4, 3, 2].map(rows => `decompress deflate ${rows}`)))
  })

  test('fails as on the host', async () => {
    const json = feed(compression, 'fail')
    const message = await onHost(json).catch((error: Error) => error.message)
    expect(message).toContain('s007')
    await expect(onDevice(json, simulated())).rejects.toThrow(message as string)
  })

  test('without nvCOMP the CPU does it, and says so', async () => {
    const json = feed(compression, 'mask')
    const gpu = simulated(false)
    expect(await onDevice(json, gpu)).toEqual(await onHost(json))
    expect(gpu.log.filter(line => line.startsWith('decompress'))).toEqual([])
  })
})

test('who decompresses is said in one line', async () => {
  const said: string[] = []
  for (const nvcomp of [true, false]) {
    const notice = (text: string): void => void said.push(text)
    const loader = openSimulated(feed('zlib', 'mask'), simulated(nvcomp), { decode: 'gpu', notice })
    await loader.ready
    await loader.close()
  }
  expect(said).toEqual([
    '"x" decoded on the GPU (Simulated, nvCOMP 0.0.0)',
    'nothing is decoded on the GPU: the feed has no images',
  ])
})
