/** The ring between real threads that are ended anywhere: V8 chooses where, as it does in a run. */
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { At, MAX_REDO, Word } from '../../batch/control-words.js'
import { layoutSlot } from '../../batch/layout.js'
import { CONTROL_BYTES, Ring, UNDECIDED } from '../../batch/ring.js'

const MAKERS = 3
const CAPACITY = 4
const ROWS = 64
const DEATHS = 60

const layout = layoutSlot([{ name: 'vector', dtype: 'i64', form: 'dense', shape: [2048] }], ROWS)
const pages = (CONTROL_BYTES + CAPACITY * layout.bytes) / 65536
const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
const ring = new Ring(memory, layout, CAPACITY)
const module = new URL('../../../../build/core/batch/ring.js', import.meta.url).href

/** Starts a maker; resolves when it is at work. */
async function start(maker: number): Promise<Worker> {
  const begun = new Int32Array(new SharedArrayBuffer(8))
  const workerData = { module, memory, layout, capacity: CAPACITY, maker, begun }
  const worker = new Worker(new URL('./fixtures/ring-maker.mjs', import.meta.url), { workerData })
  while (Atomics.load(begun, 0) === 0) await setImmediate()
  return worker
}

test('makers that are ended anywhere lose nothing, and every row is made', async () => {
  ring.reset({ epoch: 0, position: 0, limit: Infinity }, 3)
  let next = 0
  const take = (): void => {
    const index = ring.ready(next)
    if (index === undefined) return
    const rows = Array.from({ length: ROWS }, (_, row) => next * ROWS + row)
    expect([...ring.slots[index].rows]).toEqual(rows)
    ring.release(index)
    next++
  }
  const dead = new Set<number>()
  const cleanUpDeadMaker = async (maker: number): Promise<void> => {
    while (ring.abandon(maker, other => !dead.has(other)) === UNDECIDED) await setImmediate()
  }
  const workers = await Promise.all(Array.from({ length: MAKERS }, (_, maker) => start(maker)))
  try {
    for (let death = 0; death < DEATHS; death++) {
      const maker = death % MAKERS
      for (const until = next + 1 + (death % 5); next < until; take()) await setImmediate()
      await workers[maker].terminate()
      dead.add(maker)
      await cleanUpDeadMaker(maker)
      dead.delete(maker)
      workers[maker] = await start(maker)
    }
    const last = next + 2 * CAPACITY
    ring.limit = last
    for (; next < last; take()) await setImmediate()
  } finally {
    await Promise.all(workers.map(worker => worker.terminate()))
  }
  for (let maker = 0; maker < MAKERS; maker++) dead.add(maker)
  for (const maker of dead) await cleanUpDeadMaker(maker)
  expect(new BigInt64Array(memory.buffer, At.Redo, MAX_REDO).every(word => word === 0n)).toBe(true)
  expect([...ring.words.slice(Word.Holder, Word.Holder + CAPACITY)]).toEqual(Array(CAPACITY).fill(0))
})
