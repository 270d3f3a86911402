/** A maker's workspace grows as far as it may, and says so when it may not. */
import { expect, test } from 'vitest'
import { BudgetError } from '../../basics/errors.js'
import { Workspace } from '../../system/memory/workspace.js'

const MIB = 2 ** 20

test('what is taken lies apart, and stays where it is when the workspace grows', () => {
  const work = Workspace.alone(MIB, 64 * MIB)
  const first = work.take(1000)
  work.u8[first] = 7
  const second = work.take(2 * MIB)
  expect(second).toBeGreaterThanOrEqual(first + 1000)
  expect(work.u8.length).toBeGreaterThanOrEqual(second + 2 * MIB)
  expect(work.u8[first]).toBe(7)
})

test('beyond its limit, and beyond that of the memory, it is a BudgetError with the way out', () => {
  const work = Workspace.alone(MIB, 8 * MIB)
  expect(() => work.take(16 * MIB)).toThrow(BudgetError)
  expect(() => work.take(16 * MIB)).toThrow(
    'needs 33 MiB of scratch memory, more than the limit of 8 MiB: shrink',
  )
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true })
  const crowded = new Workspace(memory, 64, 65536, MIB)
  expect(() => crowded.take(100_000)).toThrow(BudgetError)
  expect(() => crowded.take(100_000)).toThrow(/more than the memory of the batches has left/)
})
