/** How long a sample may take: only time in which somebody waits counts, and the process runs. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { layoutSlot } from '../../../src/batch/layout.js'
import { CONTROL_BYTES, Ring } from '../../../src/batch/ring.js'
import { Patience } from '../../../src/engine/pool/patience.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A maker that is at row 0 from now on, and whoever waits for it. */
function begun(seconds: number): Patience {
  const layout = layoutSlot([{ name: 'x', dtype: 'u8', form: 'dense', shape: [1] }], 4)
  const pages = (CONTROL_BYTES + layout.bytes) / 65536
  const ring = new Ring(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), layout, 1)
  ring.reset({ epoch: 0, position: 0, limit: Infinity }, 1)
  ring.next(0)
  ring.at(0, 0)
  return new Patience(ring, seconds)
}

/** Looks as whoever waits does; after how many ms it was found lost. */
function wait(patience: Patience, ms: number): number | undefined {
  patience.begin()
  for (let waited = 0; waited < ms; ) {
    waited += 500
    vi.advanceTimersByTime(500)
    if (patience.lost(() => 'it')) return waited
  }
  return undefined
}

/** The clock goes on, and nobody looks. */
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms)

test('a sample is lost after its time', () => {
  expect(wait(begun(5), 10_000)).toBe(5000)
})

test('time in which the process was stopped does not count', () => {
  const patience = begun(5)
  expect(wait(patience, 3000)).toBeUndefined()
  pass(60_000)
  expect(patience.lost(() => 'it')).toBeUndefined()
  expect(wait(patience, 10_000)).toBe(5000)
})

test('nor where it was stopped while nobody waited for a batch', () => {
  const patience = begun(5)
  pass(60_000)
  expect(wait(patience, 10_000)).toBe(5000)
})

test('a maker may take ten times as long to take up the job', () => {
  const layout = layoutSlot([{ name: 'x', dtype: 'u8', form: 'dense', shape: [1] }], 4)
  const pages = (CONTROL_BYTES + layout.bytes) / 65536
  const ring = new Ring(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), layout, 1)
  let taken = false
  const patience = new Patience(ring, 2, maker => maker === 3 && !taken)
  expect(wait(patience, 15_000)).toBeUndefined()
  taken = true
  expect(wait(patience, 60_000)).toBeUndefined()
  taken = false
  // The first look finds it at work.
  expect(wait(patience, 60_000)).toBe(20_500)
})
