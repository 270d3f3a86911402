/** The tuner at work: rings that come and go while something is tried. */
import { describe, expect, test } from 'vitest'
import type { Setting, TunedRing } from '../../../core/deliver/ring-tuner.js'
import { EngineTuner } from '../../tune/engine-tuner.js'

function ringOf(id: number, set: Setting[]): TunedRing {
  return {
    id,
    run: `run ${id}`,
    feed: `feed ${id}`,
    trainer: process.pid,
    slotBytes: 1,
    mostDepth: 8,
    may: { workers: true, depth: true, claim: true, decoder: false },
    now: () => ({ workers: 3, depth: 4, ahead: 0, decoder: 20, claim: { rows: 1, least: 1, most: 1 } }),
    set: setting => void set.push(setting),
  }
}

describe('a ring that is closed while workers are tried for it', () => {
  test('leaves the others with as many as before', async () => {
    const tuner = new EngineTuner()
    const [closed, other]: Setting[][] = [[], []]
    tuner.add(ringOf(1, closed))
    tuner.add(ringOf(2, other))
    const back: Setting[] = [
      { ring: 1, knob: 'workers', value: 1 },
      { ring: 1, knob: 'depth', value: 2 },
    ]
    Object.assign(tuner, { tuner: { reset: () => ({ set: back, decisions: [] }), forget: () => {} } })
    tuner.remove(1)
    await Promise.resolve()
    expect(closed).toEqual([])
    expect(other).toEqual([{ ring: 2, knob: 'workers', value: 1 }])
    tuner.remove(2)
    expect(tuner.knows(2)).toBe(false)
  })
})
