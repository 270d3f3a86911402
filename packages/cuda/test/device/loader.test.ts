/** Batches on a device that is simulated, through a loader as users have it, against batches on the host. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import {
  type AnyDeviceBatch,
  askDecoder,
  failingPort,
  openSimulated,
  simulatedPort,
} from '../../../../test/support/gpu/device-loader.js'
import { SimulatedGpu } from '../../../../test/support/gpu/simulated-gpu.js'
import { greyPng, jpeg } from '../../../../test/support/pictures.js'
import { tarFile } from '../../../../test/support/tar.js'
import { until } from '../../../../test/support/until.js'
import { CPU, GPU } from '../../../core/basics/decoder.js'
import type { TypedArray } from '../../../core/basics/dtype.js'
import { MissingError } from '../../../core/basics/errors.js'
import type { FeedJson } from '../../../core/define/types.js'
import type { Ragged } from '../../../core/deliver/node/batch.js'
import type { DeviceArray, DeviceRagged } from '../../../core/deliver/node/device.js'
import { open } from '../../../core/deliver/node/open.js'
import type { OpenOptions } from '../../../core/deliver/options.js'
import type { StagePort } from '../../device/device.js'
import { DeviceRun } from '../../device/device-run.js'
import { essence, type FromStage } from '../../device/messages.js'
import { CudaError } from '../../driver/index.js'

const folder = temporaryFolder()
const COUNT = 22

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  const entries = Array.from({ length: COUNT }, (_, i) => {
    const png = i % 7 === 3
    const name = `s${String(i).padStart(3, '0')}`
    const picture = png ? greyPng(i, 40, 36) : jpeg(i, 24 + 3 * i, 60 - i)
    return [
      { name: `${name}.${png ? 'png' : 'jpg'}`, data: picture },
      { name: `${name}.cls`, data: String(i % 5) },
      { name: `${name}.txt`, data: `text of ${i}` },
      { name: `${name}.raw`, data: new Uint8Array(i).fill(i) },
    ]
  })
  writeFileSync(join(folder, 'a.tar'), tarFile(entries.flat()))
})

function feed(change: Partial<FeedJson> = {}): FeedJson {
  return {
    source: { tar: join(folder, 'a.tar') },
    order: { shuffle: 'global', seed: 5 },
    fields: {
      image: {
        from: 'jpg|png',
        as: 'image',
        apply: [{ randomResizedCrop: { size: 16 } }, { flip: { p: 0.5 } }, { normalize: 'imagenet' }],
        dtype: 'f32',
        layout: 'chw',
      },
      label: { from: 'cls', as: 'int' },
      text: { from: 'txt', as: 'text', ragged: { max: 64 } },
      bytes: { from: 'raw', as: 'bytes', ragged: { max: 64 } },
    },
    batch: { size: 6, last: 'keep' },
    ...change,
  }
}

interface Seen {
  ids: string[]
  count: number
  valid: number[]
  text: string[]
  image: TypedArray
  label: TypedArray
  bytes: TypedArray
  offsets: TypedArray
  shape: number[]
}

async function onHost(json: FeedJson): Promise<Seen[]> {
  const loader = open(json, { workers: 0 })
  const seen: Seen[] = []
  for await (const batch of loader) {
    const { values, offsets } = batch.bytes as Ragged
    seen.push({
      ids: batch.ids,
      count: batch.count,
      valid: [...batch.valid],
      text: batch.text as string[],
      image: (batch.image as Float32Array).slice(),
      label: (batch.label as BigInt64Array).slice(),
      bytes: values.slice(),
      offsets: offsets.slice(),
      shape: batch.shape('image'),
    })
  }
  await loader.close()
  return seen
}

async function look(batch: AnyDeviceBatch): Promise<Seen> {
  const { values, offsets } = batch.bytes as DeviceRagged
  return {
    ids: batch.ids,
    count: batch.count,
    valid: [...batch.valid],
    text: batch.text as string[],
    image: await (batch.image as DeviceArray).copyToHost(),
    label: await (batch.label as DeviceArray).copyToHost(),
    bytes: await values.copyToHost(),
    offsets: await offsets.copyToHost(),
    shape: batch.shape('image'),
  }
}

async function onDevice(json: FeedJson, gpu: SimulatedGpu, options: OpenOptions = {}): Promise<Seen[]> {
  const loader = openSimulated(json, gpu, options)
  const seen: Seen[] = []
  for await (const batch of loader) seen.push(await look(batch))
  await loader.close()
  return seen
}

describe.each(['cpu', 'gpu'] as const)('decode: %s', decode => {
  test('every batch is what it is on the host', async () => {
    const gpu = new SimulatedGpu()
    expect(await onDevice(feed(), gpu, { decode })).toEqual(await onHost(feed()))
    expect(gpu.log.some(line => line.startsWith('picture'))).toBe(decode === 'gpu')
  })

  test('mixed batches, too', async () => {
    for (const apply of [
      [{ mixup: { alpha: 0.4, classes: 5 } }],
      [{ cutmix: { alpha: 1, classes: 5 } }],
      [{ mixup: { alpha: 0.4, classes: 5, label: 'label' } }],
    ]) {
      const json = feed({ batch: { size: 6, last: 'keep', apply } })
      expect(await onDevice(json, new SimulatedGpu(), { decode })).toEqual(await onHost(json))
    }
  })

  test('channels last: memory as hwc, shape as chw', async () => {
    const hwc = feed()
    hwc.fields.image = { ...hwc.fields.image, layout: 'hwc' }
    const expected = await onHost(hwc)
    const loader = openSimulated(feed(), new SimulatedGpu(), { decode, channelsLast: true })
    let step = 0
    for await (const batch of loader) {
      const image = batch.image as DeviceArray
      expect(image.shape).toEqual([batch.count, 3, 16, 16])
      expect(image.strides).toEqual([768, 1, 48, 3])
      expect(await image.copyToHost()).toEqual(expected[step++].image)
    }
    await loader.close()
  })

  test('a batch with more elements than there is room for names the field', async () => {
    const json = feed()
    json.fields.bytes = { from: 'jpg|png', as: 'bytes', ragged: { max: 4000, total: 4000 } }
    await expect(onDevice(json, new SimulatedGpu(), { decode })).rejects.toThrow(
      /^field "bytes" needs \d+ elements in this batch, but its "total" is 4000/,
    )
  })

  test('nothing is left: memory, locked slots, events', async () => {
    const gpu = new SimulatedGpu()
    await onDevice(feed(), gpu, { decode })
    expect(gpu.allocations).toBe(0)
    expect(gpu.locked.size).toBe(0)
    expect(gpu.events.size).toBe(0)
    expect(gpu.closed).toBe(true)
  })

  test('outputs are used again: many steps allocate no more than a few', async () => {
    const count = async (steps: number): Promise<number> => {
      const gpu = new SimulatedGpu()
      await onDevice(feed(), gpu, { decode, steps })
      return gpu.log.filter(line => line.startsWith('allocate')).length
    }
    expect(await count(40)).toBeLessThanOrEqual((await count(8)) + 2)
  })
})

describe('refused pictures', () => {
  test('go through the CPU and come out the same', async () => {
    const expected = await onHost(feed())
    for (const refuse of [(bytes: Uint8Array) => bytes.length % 3 === 0, () => true]) {
      expect(await onDevice(feed(), new SimulatedGpu(refuse), { decode: 'gpu' })).toEqual(expected)
    }
  })
})

describe('bad samples are those of the CPU', () => {
  /** A JPEG that has a proper header and nothing behind it. */
  const torn = (i: number): Uint8Array => jpeg(i, 40, 40).slice(0, 700)

  /** A JPEG of which only decoding shows that it can't be decoded: it names quantization tables that it has not. */
  const undecodable = (bytes: Uint8Array): Uint8Array => {
    const out = Uint8Array.from(bytes)
    let frame = 2
    while (out[frame + 1] !== 0xc0) frame += 2 + out[frame + 2] * 256 + out[frame + 3]
    for (let i = 0; i < out[frame + 9]; i++) out[frame + 12 + 3 * i] = 3
    return out
  }

  beforeAll(() => {
    const entries = Array.from({ length: 12 }, (_, i) => {
      const name = `s${String(i).padStart(3, '0')}`
      return [
        { name: `${name}.jpg`, data: i === 4 || i === 9 ? torn(i) : jpeg(i, 40, 40) },
        { name: `${name}.cls`, data: String(i) },
        { name: `${name}.txt`, data: `text of ${i}` },
        { name: `${name}.raw`, data: new Uint8Array(i + 1).fill(i) },
      ]
    })
    writeFileSync(join(folder, 'torn.tar'), tarFile(entries.flat()))
  })

  const bad = (policy: 'fail' | 'drop' | 'mask'): FeedJson =>
    feed({ source: { tar: join(folder, 'torn.tar') }, order: 'none', onError: policy })
  /** nvJPEG refuses those as well. */
  const gpu = (): SimulatedGpu => new SimulatedGpu(bytes => bytes.length === 700)

  test.each(['drop', 'mask'] as const)('%s', async policy => {
    const expected = await onHost(bad(policy))
    const got = await onDevice(bad(policy), gpu(), { decode: 'gpu' })
    if (policy === 'mask') {
      // What a bad row had in other fields is not delivered either; lengths of ragged ones stay as they are.
      for (const [i, { ids, image, label, valid }] of expected.entries())
        expect(got[i]).toMatchObject({ ids, image, label, valid })
    } else expect(got).toEqual(expected)
  })

  test.each(['drop', 'mask'] as const)('%s, in a batch that is filled up with them', async policy => {
    // The last batch has fillers from the epoch's start, among them the bad ones.
    const padded = { ...bad(policy), batch: { size: 9, last: 'pad' as const } }
    const expected = await onHost(padded)
    const got = await onDevice(padded, gpu(), { decode: 'gpu' })
    for (const [i, { ids, image, label, valid }] of expected.entries())
      expect(got[i]).toMatchObject({ ids, image, label, valid })
    const ids = got.flatMap(batch => batch.ids)
    expect(new Set(ids).size).toBe(ids.length)
    expect(got.at(-1)!.valid).toHaveLength(9)
  })

  test('mask, where they are mixed: pictures and labels of the others, still', async () => {
    const entries = Array.from({ length: 6 }, (_, i) => [
      { name: `s${i}.jpg`, data: i === 0 ? undecodable(jpeg(i, 40, 40)) : jpeg(i, 40, 40) },
      { name: `s${i}.cls`, data: String(i % 5) },
      { name: `s${i}.txt`, data: 'text' },
      { name: `s${i}.raw`, data: new Uint8Array(1) },
    ])
    writeFileSync(join(folder, 'undecodable.tar'), tarFile(entries.flat()))
    const json = feed({
      source: { tar: join(folder, 'undecodable.tar') },
      order: 'none',
      onError: 'mask',
      batch: { size: 6, last: 'keep', apply: [{ mixup: { alpha: 0.4, classes: 5 } }] },
    })
    const [expected] = await onHost(json)
    const [got] = await onDevice(json, new SimulatedGpu(bytes => bytes[1] === 0xd8), { decode: 'gpu' })
    expect(got.valid).toEqual([0, 1, 1, 1, 1, 1])
    expect(got.image).toEqual(expected.image)
    // All but the bad row's own, and those that were mixed with it: they were mixed before it was known.
    expect(got.label.slice(10)).toEqual(expected.label.slice(10))
  })

  test('a sample that is bad in several fields counts once', async () => {
    const json = feed({
      source: { tar: join(folder, 'undecodable.tar') },
      order: 'none',
      onError: { policy: 'drop', budget: 1 },
    })
    json.fields.again = json.fields.image
    const refuseAll = new SimulatedGpu(() => true)
    const loader = openSimulated(json, refuseAll, { decode: 'gpu' })
    for await (const batch of loader) expect(batch.count).toBe(5)
    expect(loader.stats().bad.count).toBe(1)
    await loader.close()
  })

  test('a picture that would become too large on its way', async () => {
    const entries = [jpeg(0, 40, 40), jpeg(1, 1, 3000)].flatMap((data, i) => [
      { name: `s${i}.jpg`, data },
      { name: `s${i}.cls`, data: '0' },
      { name: `s${i}.txt`, data: 'text' },
      { name: `s${i}.raw`, data: new Uint8Array(1) },
    ])
    writeFileSync(join(folder, 'thin.tar'), tarFile(entries))
    const json = feed({ source: { tar: join(folder, 'thin.tar') }, onError: 'drop' })
    // 256 × 768,000 pixels are to be grey before all but a few of them are cut off.
    json.fields.image.apply = [{ resize: 256 }, { grayscale: 1 }, { centerCrop: 16 }]
    const got = await onDevice(json, new SimulatedGpu(), { decode: 'gpu' })
    expect(got.map(({ ids }) => ids)).toEqual([['thin.tar:s0']])
    expect(got).toEqual(await onHost(json))
  })

  test('fail names the sample', async () => {
    await expect(onDevice(bad('fail'), gpu(), { decode: 'gpu' })).rejects.toThrow(
      /sample a?.*s004.*decode of field "image" failed/,
    )
  })

  test('they are counted', async () => {
    const loader = openSimulated(bad('drop'), gpu(), { decode: 'gpu' })
    for await (const _ of loader);
    expect(loader.stats().bad.count).toBe(2)
    await loader.close()
  })
})

describe('lifetime', () => {
  test('a kept batch stays what it is; others reuse what was released', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu(), { decode: 'gpu', steps: 12 })
    const kept: [AnyDeviceBatch, TypedArray][] = []
    for await (const batch of loader) {
      if (kept.length < 2) kept.push([batch.keep(), await (batch.image as DeviceArray).copyToHost()])
    }
    for (const [batch, before] of kept) {
      expect(await (batch.image as DeviceArray).copyToHost()).toEqual(before)
      batch.release()
      expect(() => batch.image).toThrow(/has been released/)
    }
    await loader.close()
  })

  test('an array of a released batch can not be read', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu(), { decode: 'cpu' })
    let array: DeviceArray | undefined
    for await (const batch of loader) array ??= batch.image as DeviceArray
    await expect(array!.copyToHost()).rejects.toThrow(/has been released/)
    await loader.close()
  })

  test('with as many kept as the depth allows, the next is refused', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu(), { decode: 'cpu', depth: 2, steps: 9 })
    const keep = async (): Promise<void> => {
      for await (const batch of loader) batch.keep()
    }
    await expect(keep()).rejects.toThrow(/all 2 batches .* are kept on the device/)
    await loader.close()
  })

  test('an output is not written again before the consumer is done with it', async () => {
    const gpu = new SimulatedGpu()
    const loader = openSimulated(feed(), gpu, { decode: 'gpu', steps: 12 })
    const expected = await onHost(feed({}))
    const seen: Float32Array[] = []
    for await (const batch of loader) {
      // Work of the consumer's that runs late: it must still see this batch.
      const { devicePointer, byteLength } = batch.image as DeviceArray
      gpu.consumer.put(() => seen.push(new Float32Array(gpu.at(devicePointer, byteLength).slice().buffer)))
    }
    await loader.close()
    gpu.finishAll()
    expect(seen.length).toBe(12)
    for (const [i, { image }] of expected.entries()) expect(seen[i]).toEqual(image)
  })

  test('a broken loop goes on with the next epoch, and a state is gone on from', async () => {
    const expected = (await onHost(feed())).map(({ ids }) => ids)
    const loader = openSimulated(feed(), new SimulatedGpu(), { decode: 'gpu' })
    const ids: string[][] = []
    for await (const batch of loader) {
      ids.push(batch.ids)
      if (ids.length === 2) break
    }
    expect(ids).toEqual(expected.slice(0, 2))
    const state = loader.state()
    for await (const batch of loader) {
      expect(batch.epoch).toBe(1)
      break
    }
    loader.load(state)
    for await (const batch of loader) ids.push(batch.ids)
    expect(ids).toEqual(expected)
    await loader.close()
  })
})

describe('decode: auto', () => {
  /** In the order in which the tuner might ask for them, and after which step. */
  const ASKED: [step: number, twentieths: number][] = [
    [4, GPU],
    [8, 9],
    [12, CPU],
  ]

  test('the tuner has the device decode, then both; nothing is lost or repeated, and what is found is in the state', async () => {
    const expected = await onHost(feed())
    const said: string[] = []
    const gpu = new SimulatedGpu()
    const options = { steps: 16, notice: (text: string) => void said.push(text) }
    const loader = openSimulated(feed(), gpu, options)
    let step = 0
    const where: string[] = []
    for await (const batch of loader) {
      const { image, ids } = await look(batch)
      const epoch = Math.floor(step / expected.length)
      if (epoch === 0)
        expect({ image, ids }).toEqual({ image: expected[step].image, ids: expected[step].ids })
      expect(batch.epoch).toBe(epoch)
      where.push(loader.stats().device!.decode)
      expect(loader.state().cpuShare).toBeUndefined()
      step++
      for (const [at, twentieths] of ASKED) if (at === step) askDecoder(loader, twentieths)
    }
    expect(step).toBe(16)
    const four = (who: string): string[] => new Array(4).fill(who)
    expect(where).toEqual([...four('cpu'), ...four('gpu'), ...four('both'), ...four('cpu')])
    for await (const _ of loader) {
      askDecoder(loader, 9, true) // of every ring, as the tuner does
      if (loader.state().cpuShare !== undefined) break
    }
    expect(loader.state().cpuShare).toBe(0.45)
    expect(said).toHaveLength(2)
    expect(said[1]).toMatch(/^images are decoded on both, 45 % of them on the CPU: /)
    const state = loader.state()
    await loader.close()
    expect([gpu.allocations, gpu.locked.size, gpu.events.size]).toEqual([0, 0, 0])

    const again = openSimulated(feed(), new SimulatedGpu(), { ...options, state })
    await again.ready
    expect(again.stats().device!.decode).toBe('both')
    expect(said.at(-1)).toMatch(/decoded on both, 45 % of them on the CPU, as the state says$/)
    expect(again.state().cpuShare).toBe(0.45)
    await again.close()
  })

  test('a state that is loaded later says who decodes as well', async () => {
    const said: string[] = []
    const loader = openSimulated(feed(), new SimulatedGpu(), { notice: text => said.push(text) })
    await loader.ready
    loader.load({ ...loader.state(), cpuShare: 0 })
    for await (const _ of loader) if (loader.state().cpuShare !== undefined) break
    expect(loader.stats().device!.decode).toBe('gpu')
    expect(said.at(-1)).toBe('images are decoded on the GPU: as the state says')
    await loader.close()
  })

  test('with tune: "off" the CPU decodes, and it is said why', async () => {
    const said: string[] = []
    const options = { tune: 'off' as const, notice: (text: string) => void said.push(text) }
    const loader = openSimulated(feed(), new SimulatedGpu(), options, '/', undefined, {})
    await loader.ready
    expect(said).toEqual([
      expect.stringMatching(/decoded on the CPU: with tune: "off" nothing else is tried$/),
    ])
    await loader.close()
  })

  test('a device that fails while the change is made has failed: what it says later is of a ring that is gone', async () => {
    const gpu = new SimulatedGpu()
    let say: (message: FromStage) => void = () => {}
    const late: FromStage[] = []
    /** Batches after the change come late. */
    const start = (): StagePort => {
      const port = simulatedPort(gpu)
      const listen: StagePort['listen'] = (heard, ended) => {
        say = heard
        port.listen(message => {
          if ('finished' in message && message.finished.batch >= 4 && late.length < 3) late.push(message)
          else heard(message)
        }, ended)
      }
      return { ...port, listen }
    }
    const loader = openSimulated(feed(), gpu, { steps: 12 }, '/', start)
    const run = async (): Promise<void> => {
      let step = 0
      for await (const _ of loader) if (++step === 4) askDecoder(loader, GPU)
    }
    const ran = run()
    await until(() => late.length === 3)
    say({ failed: { batch: 4, error: essence(new CudaError('cuMemAlloc_v2', 'CUDA_ERROR_OUT_OF_MEMORY')) } })
    setTimeout(() => late.forEach(say), 20)
    await expect(ran).rejects.toThrow(/CUDA_ERROR_OUT_OF_MEMORY/)
    await loader.close()
  })

  test('while a batch is kept nothing changes', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu(), { steps: 12 })
    let kept: AnyDeviceBatch | undefined
    const where: string[] = []
    for await (const batch of loader) {
      kept ??= batch.keep()
      askDecoder(loader, GPU)
      if (where.length === 8) kept.release()
      where.push(loader.stats().device!.decode)
    }
    expect(where.slice(0, 10)).toEqual([...new Array(9).fill('cpu'), 'gpu'])
    await loader.close()
  })
})

describe('opening', () => {
  test('without a device "auto" is the CPU, and says so when it was asked for', async () => {
    const { readDeviceOptions } = await import('../../../core/deliver/device-options.js')
    const said: string[] = []
    const notice = (text: string): number => said.push(text)
    expect([readDeviceOptions({ notice }), readDeviceOptions({ decode: 'cpu', notice }), said]).toEqual([
      undefined,
      undefined,
      [],
    ])
    readDeviceOptions({ decode: 'auto', notice })
    expect(said).toEqual(['images are decoded on the CPU: batches stay in host memory, no device was given'])
    expect(() => readDeviceOptions({ decode: 'gpu' })).toThrow('device: "cuda"')
  })

  test('without a GPU it is one sentence', async () => {
    const loader = openSimulated(feed(), new SimulatedGpu())
    await loader.close()
    const { normalizeFeed } = await import('../../../core/define/normalize.js')
    const { Loader } = await import('../../../core/deliver/node/loader.js')
    const { fillOptions } = await import('../../../core/deliver/options.js')
    const { readDeviceOptions } = await import('../../../core/deliver/device-options.js')
    const choice = readDeviceOptions({ device: 'cuda' })!
    const start = () => failingPort(new MissingError('no driver: install it'))
    const failing = new Loader(normalizeFeed(feed(), '/'), {
      ...fillOptions({}),
      device: of => DeviceRun.open(choice, of, { start }),
    })
    await expect(failing.ready).rejects.toThrow(MissingError)
    await expect(failing.ready).rejects.toThrow('no driver: install it')
    await failing.close()
  })

  test('the package opens devices, and the core by itself says that it can not', async () => {
    const { MissingError: missing, open: openPackaged } = (await import(
      new URL('../../../../build/all/index.js', import.meta.url).href
    )) as { MissingError: typeof MissingError; open: typeof open }
    const packaged = openPackaged(feed(), { device: 'cuda:99', workers: 0 })
    await expect(packaged.ready).rejects.toThrow(missing)
    await expect(packaged.ready).rejects.toThrow(/libcuda|cuda:99|no GPU/)
    const alone = open(feed(), { device: 'cuda', workers: 0 })
    await expect(alone.ready).rejects.toThrow('this program has no way to a GPU')
    await Promise.all([packaged.close(), alone.close()])
  })

  test('a GPU that stands still ends the run, and is named', async () => {
    const gpu = new SimulatedGpu()
    gpu.hangs = true
    const loader = openSimulated(feed(), gpu, { decode: 'gpu', timeout: 0.1 })
    await expect(loader[Symbol.asyncIterator]().next()).rejects.toThrow(
      'the GPU has been at one batch for 0.1 s: use decode: "cpu"',
    )
    await loader.close()
  })

  test('closing a loader does not wait for such a GPU', async () => {
    const gpu = new SimulatedGpu()
    const loader = openSimulated(feed(), gpu, { decode: 'gpu', timeout: 0.1 })
    for await (const _ of loader) break
    gpu.hangs = true
    await loader.close()
  })

  test('who decodes is said in one line', async () => {
    const said: string[] = []
    const notice = (text: string): void => void said.push(text)
    for (const decode of ['auto', 'cpu', 'gpu'] as const) {
      const loader = openSimulated(feed(), new SimulatedGpu(), { decode, notice })
      await loader.ready
      await loader.close()
    }
    const [first] = Object.entries(feed().fields).filter(([, field]) => field.as === 'int')
    const loader = openSimulated(feed({ fields: { label: first[1] } }), new SimulatedGpu(), { notice })
    await loader.ready
    await loader.close()
    expect(said).toEqual([
      '"image" decoded on the CPU for now: whether it keeps up is being measured',
      'images are decoded on the CPU, as the option "decode" says',
      '"image" decoded on the GPU (Simulated, nvJPEG 0.0.0)',
      'nothing is decoded on the GPU: the feed has no images',
    ])
  })

  test('options that make no sense are refused', () => {
    const options = (given: object) => () => open(feed(), given as OpenOptions)
    expect(options({ device: 'gpu' })).toThrow('options.device: expected "cuda" or "cuda:n", not "gpu"')
    expect(options({ decode: 'gpu' })).toThrow(
      'options.decode: to decode on a GPU, also give the option device',
    )
    expect(options({ decode: 'tpu' })).toThrow('options.decode: unknown decoder "tpu"; did you mean "cpu"?')
    expect(options({ channelsLast: true })).toThrow(
      'options.channelsLast: it needs the option device: "cuda"',
    )
  })
})

describe('a state that is loaded within a loop', () => {
  test.each([undefined, 0])('is for the next one; cpuShare of it: %s', async cpuShare => {
    const json = feed({ order: 'none', batch: { size: 4, last: 'keep' } })
    const loader = openSimulated(json, new SimulatedGpu(), { notice: () => {} })
    await loader.ready
    const start = { ...loader.state(), ...(cpuShare !== undefined && { cpuShare }) }
    const positions = async () => {
      const found: string[] = []
      for await (const batch of loader) {
        found.push(batch.ids[0])
        if (found.length === 3) loader.load(start)
        if (found.length > 10) break
      }
      return found
    }
    const first = await positions()
    expect(new Set(first).size).toBe(6)
    expect(first).toHaveLength(6)
    expect(await positions()).toEqual(first)
    await loader.close()
  })
})
