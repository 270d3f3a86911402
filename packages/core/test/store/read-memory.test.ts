/** Memory for what a claim reads: stretches don't overlap, marks give them back, and what is no longer used goes. */
import { expect, test } from 'vitest'
import { ReadMemory } from '../../store/read-memory.js'

const MB = 2 ** 20

test('what is taken does not overlap, whatever its size, and is aligned', () => {
  const memory = new ReadMemory()
  const taken = [0, 1, 63, 64, 65, MB - 1, MB, 3 * MB, 5, 700_000, 700_000].map(bytes => memory.take(bytes))
  for (const [i, bytes] of taken.entries()) bytes.fill(i)
  for (const [i, bytes] of taken.entries()) expect(bytes.every(byte => byte === i)).toBe(true)
  expect(taken.every(bytes => bytes.byteOffset % 64 === 0)).toBe(true)
})

test('after a reset or a release the same memory is taken again', () => {
  const memory = new ReadMemory()
  const first = memory.take(100)
  const mark = memory.mark()
  const second = memory.take(2 * MB)
  memory.release(mark)
  expect(memory.take(2 * MB).buffer).toBe(second.buffer)
  memory.reset()
  const again = memory.take(100)
  expect([again.buffer, again.byteOffset]).toEqual([first.buffer, first.byteOffset])
})

test('what was given back to a mark is taken again; what was taken before it stays', () => {
  const memory = new ReadMemory()
  const kept = memory.take(1000).fill(7)
  for (let i = 0; i < 100; i++) {
    const mark = memory.mark()
    memory.take(1 + i * 30_000).fill(i)
    memory.release(mark)
  }
  expect(kept.every(byte => byte === 7)).toBe(true)
})

test('a large stretch that later claims have no use for goes back to the system', () => {
  const memory = new ReadMemory()
  memory.take(10)
  const large = memory.take(9 * MB).buffer
  memory.reset()
  for (let i = 0; i < 100; i++) {
    memory.take(10)
    memory.reset()
  }
  memory.take(10)
  expect(memory.take(9 * MB).buffer).not.toBe(large)
})
