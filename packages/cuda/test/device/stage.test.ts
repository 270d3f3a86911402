/** The order in which the stage does things: copies, waits, launches, and what happens when a call fails. */
import { beforeEach, describe, expect, test } from 'vitest'
import { SimulatedGpu } from '../../../../test/support/gpu/simulated-gpu.js'
import { jpeg } from '../../../../test/support/pictures.js'
import { MissingError } from '../../../core/basics/errors.js'
import { layoutSlot } from '../../../core/batch/layout.js'
import { CONTROL_BYTES } from '../../../core/batch/ring.js'
import { Header, Slot } from '../../../core/batch/slot.js'
import type { SlotField } from '../../../core/define/making.js'
import { normalizeFeed } from '../../../core/define/normalize.js'
import type { DecoderJob } from '../../../core/engine/make/cpu-decoder.js'
import { newSpanFile, openLane } from '../../../core/spans/file.js'
import type { SpanLane } from '../../../core/spans/lane.js'
import { LaneKind } from '../../../core/spans/span-words.js'
import { newMemory } from '../../../core/system/memory/memory.js'
import { Form, Word } from '../../../pixels/transform/device/parameter-words.js'
import { compileValues } from '../../../pixels/transform/place/values.js'
import type { FromStage } from '../../device/messages.js'
import { essence, revive } from '../../device/messages.js'
import { StageServer } from '../../device/server.js'
import { DeviceStage, type StageOptions } from '../../device/stage.js'
import { CudaError } from '../../driver/index.js'

const ROWS = 4
const WORDS = 48
const UNIT = 8192
const SIZE = 16
const ADDRESS = 0x5000_0000_0000n

const fields: SlotField[] = [
  { name: 'label', dtype: 'i32', shape: [], form: 'dense' },
  {
    name: 'image',
    dtype: 'u8',
    shape: [UNIT],
    form: 'dense',
    device: {
      kind: 'picture',
      words: WORDS,
      dtype: 'u8',
      shape: [3, SIZE, SIZE],
      layout: 'chw',
      width: SIZE,
      height: SIZE,
      lookup: Buffer.from(compileValues('u8', 3).lookup).toString('base64'),
      mixes: 0,
    },
  },
  { name: 'boxes', dtype: 'f32', shape: [4], form: 'ragged', max: 2 },
]
const layout = layoutSlot(fields, ROWS)
const SLOTS = 3
/** Decoded pictures, rounded up: three of them fit. */
const PICTURE = 768

let memory: WebAssembly.Memory
let gpu: SimulatedGpu

beforeEach(() => {
  memory = newMemory(CONTROL_BYTES + SLOTS * layout.bytes)
  gpu = new SimulatedGpu(undefined, { address: ADDRESS, buffer: memory.buffer })
})

function stage(scratchBytes = 2 ** 30, redo: StageOptions['redo'] = () => []): DeviceStage {
  const ring = { layout, buffer: memory.buffer, address: ADDRESS, consumer: 0n }
  return new DeviceStage(gpu, { ...ring, scratchBytes, redo, policy: 'mask' })
}

/** A row as the CPU leaves it: finished pixels, all of one value. */
function leavePixels(slot: Slot, row: number, value: number): void {
  const at = slot.at + layout.fields[1].at + row * UNIT
  const words = new Int32Array(memory.buffer, at, WORDS)
  words[Word.Form] = Form.Pixels
  words[Word.Bytes] = PICTURE
  new Uint8Array(memory.buffer).fill(value, at + WORDS * 4, at + WORDS * 4 + PICTURE)
}

/** Fills a slot as makers would: pictures of the finished size, so that no op is needed. */
function fill(index: number, seed: number, forms: readonly number[] = [1, 1, 1, 1]): void {
  const slot = new Slot(memory.buffer, CONTROL_BYTES + index * layout.bytes, layout)
  const bytes = new Uint8Array(memory.buffer)
  slot.words[Header.Count] = forms.length
  const [label, image, boxes] = layout.fields
  for (const [row, form] of forms.entries()) {
    new Int32Array(memory.buffer, slot.at + label.at, ROWS)[row] = seed * 10 + row
    const at = slot.at + image.at + row * UNIT
    const words = new Int32Array(memory.buffer, at, WORDS).fill(0)
    const data = form === Form.Pixels ? new Uint8Array(PICTURE).fill(seed) : jpeg(seed + row, SIZE)
    words[Word.Form] = form
    words[Word.Bytes] = data.length
    words[Word.StoredWidth] = words[Word.Width] = SIZE
    words[Word.StoredHeight] = words[Word.Height] = SIZE
    words[Word.Orientation] = 1
    bytes.set(data, at + WORDS * 4)
  }
  slot.column(boxes.offsetsAt, ROWS + 1).set([0, 1, 1, 2, 3].slice(0, forms.length + 1))
  slot.words[Header.Cursor + 2] = forms.length === 0 ? 0 : 3
}

describe('a batch', () => {
  test('small copies first, then parameter rows, decoding, addresses, kernel, event', () => {
    const made = stage()
    gpu.log.length = 0
    fill(0, 1)
    made.begin(7, 0)
    expect(gpu.log.filter(line => !line.startsWith('allocate'))).toEqual([
      `lock ${layout.bytes}`,
      'upload 16',
      'upload 48',
      'upload 20',
      'rows 192x4',
      'upload 768', // the lookup table, once
      'finish', // whatever read the pictures before these
      'decode 4',
      'upload 32',
      'picture 4x512 rows 4',
      'record lane', // the pictures are read
      'record lane',
    ])
    expect(made.poll()).toEqual([])
    const [{ batch, slot, pointer }] = made.finishOldest()
    expect([batch, slot]).toEqual([7, 0])
    const labels = gpu.at(pointer + BigInt(made.output.places[0].at), 16).slice()
    expect([...new Int32Array(labels.buffer)]).toEqual([10, 11, 12, 13])
    made.close()
    expect([gpu.allocations, gpu.locked.size, gpu.events.size]).toEqual([0, 0, 0])
  })

  test('two are under way at once; the third waits for the first', () => {
    const made = stage()
    for (const slot of [0, 1]) {
      fill(slot, slot)
      expect(made.ready).toBe(true)
      made.begin(slot, slot)
    }
    expect(made.ready).toBe(false)
    expect(made.finishOldest().map(({ batch }) => batch)).toEqual([0])
    expect(made.ready).toBe(true)
    // Whatever was waited for meanwhile is seen without waiting.
    gpu.finishAll()
    expect(made.poll().map(({ batch }) => batch)).toEqual([1])
    expect(made.working).toBe(false)
    made.close()
  })

  test('an output that was released waits for its consumer, on the device', () => {
    const made = stage()
    fill(0, 1)
    made.begin(0, 0)
    const [{ output }] = made.finishOldest()
    made.release(output)
    gpu.log.length = 0
    made.begin(1, 0)
    expect(gpu.log[0]).toBe('wait')
    expect(made.finishOldest()[0].output).toBe(output)
    made.close()
  })

  test('of nothing', () => {
    const made = stage()
    fill(0, 1, [])
    gpu.log.length = 0
    made.begin(0, 0)
    expect(gpu.log.filter(line => /rows|decode|picture/.test(line))).toEqual([])
    expect(made.finishOldest()).toHaveLength(1)
    made.close()
  })
})

describe('pictures', () => {
  test('parts that fit the scratch memory are decoded and finished one after the other', () => {
    const made = stage(2 * 3 * PICTURE) // of two lanes
    fill(0, 1)
    gpu.log.length = 0
    made.begin(0, 0)
    expect(gpu.log.filter(line => /decode|picture/.test(line))).toEqual([
      'decode 3',
      'picture 3x512 rows 3',
      'decode 1',
      'picture 1x512 rows 1',
    ])
    const [{ pointer }] = made.finishOldest()
    const parted = gpu.at(pointer, made.output.bytes).slice()
    made.close()
    const whole = stage()
    whole.begin(0, 0)
    const [{ pointer: other }] = whole.finishOldest()
    expect(parted).toEqual(gpu.at(other, whole.output.bytes).slice())
    whole.close()
  })

  test('where pictures on their way are large, fewer are made at once', () => {
    const made = stage(2 ** 22)
    fill(0, 1)
    const image = CONTROL_BYTES + layout.fields[1].at
    new Int32Array(memory.buffer, image + 2 * UNIT, WORDS)[Word.PictureBytes] = 200 * 1024
    gpu.log.length = 0
    made.begin(0, 0)
    expect(gpu.log.filter(line => line.startsWith('picture'))).toEqual(['picture 2x512 rows 4'])
    expect(gpu.log).toContain(`allocate ${2 * 2 * 200 * 1024}`)
    made.finishOldest()
    made.close()
  })

  test('each form goes its way: JPEGs, pixels as they are, nothing', () => {
    const made = stage()
    fill(0, 9, [Form.Jpeg, Form.Jpeg, Form.Pixels, Form.Nothing])
    gpu.log.length = 0
    made.begin(0, 0)
    expect(gpu.log.filter(line => /decode|upload 768/.test(line))).toEqual([
      'upload 768', // the lookup table
      'upload 768', // the pixels
      'decode 2',
    ])
    const [{ pointer }] = made.finishOldest()
    const image = pointer + BigInt(made.output.places[1].at)
    expect(new Set(gpu.at(image + BigInt(2 * PICTURE), PICTURE))).toEqual(new Set([9]))
    expect(new Set(gpu.at(image + BigInt(3 * PICTURE), PICTURE))).toEqual(new Set([0]))
    made.close()
  })

  /** A decoder that refuses one picture. */
  const refusing = (refused: Uint8Array): SimulatedGpu =>
    new SimulatedGpu(bytes => Buffer.from(bytes).equals(Buffer.from(refused)), {
      address: ADDRESS,
      buffer: memory.buffer,
    })

  test('what the decoder refuses the CPU makes, and nothing is decoded twice', () => {
    gpu = refusing(jpeg(2, SIZE))
    const asked: [string, readonly number[]][] = []
    const made = stage(2 * PICTURE, (slot, field, rows) => {
      asked.push([field, rows])
      leavePixels(slot, 1, 77)
      return []
    })
    fill(0, 1)
    made.begin(0, 0)
    expect(asked).toEqual([['image', [1]]])
    const decoded = gpu.log.filter(line => line.startsWith('decode'))
    const [{ pointer, bad }] = made.finishOldest()
    expect(bad).toEqual([])
    const row = (i: number): Uint8Array =>
      gpu.at(pointer + BigInt(made.output.places[1].at + i * PICTURE), PICTURE).slice()
    expect(new Set(row(1))).toEqual(new Set([77]))
    // The other rows are what they are without any refusal, by as many calls.
    const rows = [0, 2, 3].map(row)
    made.close()
    gpu = new SimulatedGpu(undefined, { address: ADDRESS, buffer: memory.buffer })
    fill(0, 1)
    const plain = stage(2 * PICTURE)
    plain.begin(0, 0)
    expect(gpu.log.filter(line => line.startsWith('decode'))).toEqual(decoded)
    const [{ pointer: other }] = plain.finishOldest()
    const image = other + BigInt(plain.output.places[1].at)
    expect([0, 2, 3].map(i => gpu.at(image + BigInt(i * PICTURE), PICTURE).slice())).toEqual(rows)
    plain.close()
  })

  test('what the CPU can not make either is taken out of all fields', () => {
    gpu = refusing(jpeg(2, SIZE))
    const sample = { source: 0, sourceRow: 8, field: 'image', stage: 'decode', problem: 'torn' }
    const made = stage(2 ** 30, (slot, _, rows) => {
      new Int32Array(memory.buffer, slot.at + layout.fields[1].at + UNIT, 1)[0] = Form.Nothing
      return rows.map(row => ({ row, ...sample }))
    })
    fill(0, 1)
    made.begin(0, 0)
    const [{ pointer, bad }] = made.finishOldest()
    expect(bad).toEqual([{ row: 1, ...sample }])
    const label = new Int32Array(gpu.at(pointer + BigInt(made.output.places[0].at), ROWS * 4).slice().buffer)
    expect([...label]).toEqual([10, 0, 12, 13])
    const image = pointer + BigInt(made.output.places[1].at + PICTURE)
    expect(new Set(gpu.at(image, PICTURE))).toEqual(new Set([0]))
    made.close()
  })
})

describe('the server', () => {
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 12; i++) await new Promise(resolve => setImmediate(resolve))
  }

  let job: DecoderJob

  beforeEach(() => {
    const json = { source: { tar: 'a' }, fields: { label: { from: 'x', as: 'int' } }, batch: ROWS }
    const workspaces = { at: 0, bytes: 65536, count: 0, limit: 65536 }
    job = { memory, layout, feed: normalizeFeed(json, '/'), workspaces }
  })

  function served(spans?: SpanLane): { server: StageServer; said: FromStage[] } {
    const said: FromStage[] = []
    const server = new StageServer(
      gpu,
      () => ADDRESS,
      message => said.push(message),
      spans,
    )
    server.receive({ ring: { id: 7, job, scratchBytes: 2 ** 30, consumer: 0n } })
    return { server, said }
  }

  test('writes spans of what it does for which ring', async () => {
    const file = newSpanFile()
    const { server } = served(openLane(file.take(LaneKind.Device, 'device')!))
    for (const slot of [0, 1]) {
      fill(slot, slot)
      server.receive({ stage: { batch: 5 + slot, slot } })
      await turns()
    }
    server.receive({ close: true })
    const { records } = file.reader.readSince(undefined, 7)
    const staged = records.filter(({ kind }) => kind === 'stage')
    expect(staged[0]).toMatchObject({ batch: 5, lane: { kind: 'device', name: 'device 0' } })
    expect(staged.reduce((sum, { joined }) => sum + joined, 0)).toBe(2)
    expect(staged.reduce((sum, { rows }) => sum + rows, 0)).toBe(2 * ROWS)
    expect(staged[0].bytes).toBeGreaterThan(0)
    const kinds = new Set(file.reader.readSince().records.map(({ kind, ring }) => `${kind} ${ring}`))
    expect([...kinds].sort()).toEqual(['idle 0', 'stage 7', 'wait 7'])
  })

  test('tells of each batch that is done, in order', async () => {
    const { server, said } = served()
    for (const slot of [0, 1, 2]) {
      fill(slot, slot)
      server.receive({ stage: { batch: slot, slot } })
    }
    await turns()
    expect(said.map(message => 'finished' in message && message.finished.batch)).toEqual([0, 1, 2])
    server.receive({ close: true })
    expect(said.at(-1)).toEqual({ closed: true })
    expect([gpu.allocations, gpu.closed]).toEqual([0, true])
  })

  test('an error names its batch; one of a download names that', async () => {
    const { server, said } = served()
    fill(0, 0)
    gpu.allocate = () => {
      throw new CudaError('cuMemAlloc_v2', 'CUDA_ERROR_OUT_OF_MEMORY')
    }
    server.receive({ stage: { batch: 5, slot: 0 } })
    await turns()
    server.receive({ download: { id: 3, pointer: 1n, bytes: 4 } })
    expect(said).toMatchObject([
      { failed: { batch: 5, error: { tag: 'Cuda', code: 'CUDA_ERROR_OUT_OF_MEMORY' } } },
      { failed: { id: 3 } },
    ])
  })

  test('a ring that can not be served leaves nothing of the one before to work with', async () => {
    const { server, said } = served()
    const { allocateHost } = gpu
    gpu.allocateHost = () => {
      throw new CudaError('cuMemHostAlloc', 'CUDA_ERROR_OUT_OF_MEMORY')
    }
    server.receive({ ring: { id: 7, job, scratchBytes: 2 ** 30, consumer: 0n } })
    gpu.allocateHost = allocateHost
    fill(0, 0)
    server.receive({ stage: { batch: 0, slot: 0 } })
    await turns()
    server.receive({ close: true })
    expect(said).toMatchObject([
      { failed: { error: { code: 'CUDA_ERROR_OUT_OF_MEMORY' } } },
      { closed: true },
    ])
  })
})

test('errors keep their class on the way between threads', () => {
  const cuda = revive(structuredClone(essence(new CudaError('cuMemAlloc_v2', 'CUDA_ERROR_OUT_OF_MEMORY'))))
  expect(cuda).toBeInstanceOf(CudaError)
  expect(cuda).toMatchObject({ call: 'cuMemAlloc_v2', code: 'CUDA_ERROR_OUT_OF_MEMORY' })
  expect(cuda.message).toMatch(/the GPU has no memory left/)
  expect(revive(essence(new MissingError('no driver')))).toBeInstanceOf(MissingError)
  expect(revive(essence(new TypeError('a bug'))).stack).toContain('stage.test')
})
