/** The timeout of a sample. Only time counts in which a thread waits and the process runs. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { layoutSlot } from '../../../batch/layout.js'
import { CONTROL_BYTES, Ring } from '../../../batch/ring.js'
import { SampleTimeout } from '../../../engine/ring/sample-timeout.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The timeout of a ring whose maker is at row 0 from now on. */
function begun(seconds: number): SampleTimeout {
  const layout = layoutSlot([{ name: 'x', dtype: 'u8', form: 'dense', shape: [1] }], 4)
  const pages = (CONTROL_BYTES + layout.bytes) / 65536
  const ring = new Ring(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), layout, 1)
  ring.reset({ epoch: 0, position: 0, limit: Infinity }, 1)
  ring.next(0)
  ring.at(0, 0)
  return new SampleTimeout(ring, seconds)
}

/** Checks as a thread that waits for a batch does. Returns the ms after which the maker was found lost. */
function wait(timeout: SampleTimeout, ms: number): number | undefined {
  timeout.begin()
  for (let waited = 0; waited < ms; ) {
    waited += 500
    vi.advanceTimersByTime(500)
    if (timeout.lost(() => 'it')) return waited
  }
  return undefined
}

/** The clock goes on, and no thread checks. */
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms)

test('a sample is lost after its time', () => {
  expect(wait(begun(5), 10_000)).toBe(5000)
})

test('time in which the process was stopped does not count', () => {
  const timeout = begun(5)
  expect(wait(timeout, 3000)).toBeUndefined()
  pass(60_000)
  expect(timeout.lost(() => 'it')).toBeUndefined()
  expect(wait(timeout, 10_000)).toBe(5000)
})

test('nor where it was stopped while no thread waited for a batch', () => {
  const timeout = begun(5)
  pass(60_000)
  expect(wait(timeout, 10_000)).toBe(5000)
})

test('a maker may take ten times as long to load the job', () => {
  const layout = layoutSlot([{ name: 'x', dtype: 'u8', form: 'dense', shape: [1] }], 4)
  const pages = (CONTROL_BYTES + layout.bytes) / 65536
  const ring = new Ring(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }), layout, 1)
  let taken = false
  const timeout = new SampleTimeout(ring, 2, maker => maker === 3 && !taken)
  expect(wait(timeout, 15_000)).toBeUndefined()
  taken = true
  expect(wait(timeout, 60_000)).toBeUndefined()
  taken = false
  // The first check finds it at work.
  expect(wait(timeout, 60_000)).toBe(20_500)
})
