/** What the tuner of a process knows of its feeds: those that are asked twice, closed, or set by hand. */
import { describe, expect, test } from 'vitest'
import { EngineTuner } from '../../../observe/tune/engine-tuner.js'
import type { OpenedOptions } from '../../deliver/options.js'
import { tuneByHand, tuneFeeding } from '../../deliver/tuning.js'
import type { Feeding } from '../../engine/ring/feeding.js'

const TUNED = { workers: true, depth: true, claim: true, decoder: true }
const OPTIONS = { tuned: TUNED } as unknown as OpenedOptions

/** As much of a feed as the tuner sees of it before it looks. */
function feedingOf(id: number): Feeding {
  const feeding = {
    id,
    name: 'cats',
    workers: 2,
    depth: 4,
    claimRows: 8,
    closed: false,
    onClose: undefined,
    options: { workers: 2 },
    ring: { capacity: 32, ahead: 0 },
    budget: { slotBytes: 1 },
    async setDepth(depth: number) {
      feeding.depth = depth
    },
  }
  return feeding as unknown as Feeding
}

describe.skipIf(process.platform !== 'linux')('a feed that is tuned', () => {
  const tuner = EngineTuner.shared()

  test('is forgotten when it is closed, though it was asked later who decodes', async () => {
    const feeding = feedingOf(9001)
    const about = { run: 'asked twice', trainer: process.pid }
    await tuneFeeding(feeding, OPTIONS, about)
    expect(tuner.knows(9001)).toBe(true)
    await tuneFeeding(feeding, OPTIONS, { ...about, decides: true })
    feeding.onClose!()
    expect(tuner.knows(9001)).toBe(false)
  })

  test('has what was set by hand with its next ring, too', async () => {
    const [first, next] = [feedingOf(9002), feedingOf(9003)]
    const about = { run: 'by hand', trainer: process.pid }
    await tuneFeeding(first, OPTIONS, about)
    await tuneByHand(first, { workers: 1, depth: 3 })
    await tuneFeeding(next, OPTIONS, about)
    expect([next.workers, next.depth]).toEqual([1, 3])
    for (const feeding of [first, next]) feeding.onClose!()
    expect(tuner.knows(9003)).toBe(false)
  })
})
