/** The device stage as the main thread sees it: what is waited for comes to an end, however the stage ends. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { askDecoder, openSimulated } from '../../../../test/support/gpu/device-loader.js'
import { SimulatedGpu } from '../../../../test/support/gpu/simulated-gpu.js'
import { mapped } from '../../../../test/support/maps.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { GPU } from '../../../core/basics/decoder.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { FeedJson } from '../../../core/define/types.js'
import { Feeding } from '../../../core/engine/ring/feeding.js'
import { Device, type StagePort } from '../../device/device.js'
import { librariesFor } from '../../device/device-run.js'
import { essence, type FromStage, type ToStage } from '../../device/messages.js'
import { SlotPins } from '../../device/stage.js'
import { CudaError } from '../../driver/index.js'

/** A stage that answers as it is told to, and otherwise not at all. */
class ScriptedPort implements StagePort {
  readonly posted: ToStage[] = []
  holds = 0
  ends = 0
  heard!: (message: FromStage) => void
  ended!: (error: Error) => void

  constructor(private readonly answer: (message: ToStage) => FromStage | undefined = () => undefined) {}

  post(message: ToStage): void {
    this.posted.push(message)
    const answer = this.answer(message)
    if (answer !== undefined) setImmediate(() => this.heard(answer))
  }
  listen(heard: (message: FromStage) => void, ended: (error: Error) => void): void {
    this.heard = heard
    this.ended = ended
    const facts = { ordinal: 0, name: 'Scripted', multiprocessors: 1, architecture: 'sm_90' }
    setImmediate(() => heard({ opened: { facts } }))
  }
  hold(yes: boolean): void {
    this.holds = yes ? 1 : 0
  }
  async end(): Promise<void> {
    this.ends++
  }
}

const closes = (message: ToStage): FromStage | undefined =>
  'close' in message ? { closed: true } : undefined
const lost = new CudaError('cuLaunchKernel', 'CUDA_ERROR_ILLEGAL_ADDRESS')

describe('closing', () => {
  test('twice at once is once', async () => {
    const port = new ScriptedPort(closes)
    const { device } = await Device.open(port)
    await Promise.all([device.close(), device.close()])
    await device.close()
    expect(port.posted).toEqual([{ close: true }])
    expect([port.ends, port.holds]).toEqual([1, 0])
  })

  test('after a failure the memory is given back all the same', async () => {
    const port = new ScriptedPort(closes)
    const { device } = await Device.open(port)
    port.heard({ failed: { error: essence(lost) } })
    await device.close()
    expect(port.posted).toEqual([{ close: true }])
    expect(port.ends).toBe(1)
  })

  test('a stage that fails to close, or whose thread has ended, keeps nobody waiting', async () => {
    const failing = new ScriptedPort(message =>
      'close' in message ? { failed: { error: essence(lost) } } : undefined,
    )
    await (await Device.open(failing)).device.close()
    const dead = new ScriptedPort()
    const { device } = await Device.open(dead)
    dead.ended(new Error('the thread of the device stage has ended'))
    await device.close()
    expect(dead.posted).toEqual([])
  })
})

test('a download that fails says why, and so does one after the end', async () => {
  const port = new ScriptedPort(message =>
    'download' in message ? { failed: { id: message.download.id, error: essence(lost) } } : undefined,
  )
  const { device } = await Device.open(port)
  await expect(device.download(1n, 4)).rejects.toThrow('cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS')
  expect(port.holds).toBe(0)
  port.ended(new Error('the thread of the device stage has ended'))
  await expect(device.download(1n, 4)).rejects.toThrow('has ended')
})

describe('a loader', () => {
  const folder = temporaryFolder()
  beforeAll(() => {
    for (const cls of ['a', 'b']) {
      mkdirSync(join(folder, cls), { recursive: true })
      for (let i = 0; i < 12; i++) writeFileSync(join(folder, cls, `${i}.jpg`), jpeg(i, 24, 20))
    }
  })
  const feed: FeedJson = {
    source: { folder },
    fields: { image: { from: 'image', as: 'image', apply: [{ resize: [8, 8] }] } },
    batch: { size: 2 },
  }

  test('that is closed while somebody else begins to decode leaves nothing at work', async () => {
    const memory = mapped('memfd:millrace ')
    const alive = new Set<Feeding>()
    const { close } = Feeding.prototype
    const { start } = Feeding
    Feeding.start = async (...args) => {
      const feeding = await start.apply(Feeding, args)
      alive.add(feeding)
      // The second one is for the trial of the device.
      if (alive.size === 2) void loader.close()
      return feeding
    }
    Feeding.prototype.close = async function (this: Feeding) {
      await close.call(this)
      alive.delete(this)
    }
    const loader = openSimulated(feed, new SimulatedGpu())
    try {
      const all = (async () => {
        for await (const batch of loader) {
          askDecoder(loader, GPU)
          batch.release()
        }
      })()
      await expect(all).rejects.toThrow('this loader is closed')
      await loader.close()
      expect(alive.size).toBe(0)
      expect(mapped('memfd:millrace ')).toBe(memory)
    } finally {
      Feeding.start = start
      Feeding.prototype.close = close
    }
  })
})

test('slots that can not be page-locked are copied from all the same, and it is said once', () => {
  const said: unknown[] = []
  const { emitWarning } = process
  process.emitWarning = (text: unknown) => void said.push(text)
  const gpu = new SimulatedGpu()
  let tries = 0
  gpu.lock = () => {
    tries++
    throw new CudaError('cuMemHostRegister_v2', 'CUDA_ERROR_OPERATING_SYSTEM')
  }
  try {
    const locks = new SlotPins(gpu, 64, slot => BigInt(slot))
    for (const slot of [0, 1, 0]) locks.lock(slot)
    locks.free()
  } finally {
    process.emitWarning = emitWarning
  }
  expect(tries).toBe(1)
  expect(said).toEqual([
    expect.stringMatching(/^slots can't be page-locked \(cuMemHostRegister_v2: .*ulimit -l/),
  ])
})

describe('libraries that are looked for', () => {
  const images: FeedJson = {
    source: { synthetic: { count: 8, images: { width: 8, height: 8, classes: 2 } } },
    fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [8, 8] }] } },
    batch: { size: 2 },
  }
  const labels: FeedJson = { ...images, fields: { label: { from: 'cls', as: 'int' } } }

  test('are those that the feed has work for', () => {
    const wanted = (json: FeedJson, decode: 'auto' | 'cpu' | 'gpu') =>
      librariesFor(decode, normalizeFeed(json, '/'))
    expect(wanted(images, 'gpu')).toEqual({ nvjpeg: 'needed' })
    expect(wanted(images, 'auto')).toEqual({ nvjpeg: 'optional' })
    expect(wanted(images, 'cpu')).toEqual({})
    expect(wanted(labels, 'gpu')).toEqual({})
  })
})
