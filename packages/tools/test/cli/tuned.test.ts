/** What `run` says of the tuner. */
import { expect, test } from 'vitest'
import type { TunerDecision } from '../../../observe/live/record.js'
import { Tuned } from '../../cli/live/tuned.js'

type Event = TunerDecision['event']
const decision = (event: Event, knob: TunerDecision['knob'], from = 1, to = 2, gain?: number) => ({
  at: 0,
  time: 0,
  ring: 1,
  feed: 'cats',
  event,
  knob,
  from,
  to,
  reason: 'A reason.',
  lost: 0.2,
  predicted: null,
  measured: gain === undefined ? null : { gain, interval: [gain, gain] as [number, number] },
})

function after(...decisions: TunerDecision[]): Tuned {
  const tuned = new Tuned()
  for (const one of decisions) tuned.add(one)
  return tuned
}

test('what was kept, with what each step of it brought', () => {
  const tuned = after(
    decision('tried', 'workers'),
    decision('kept', 'workers', 1, 2, 0.8),
    decision('tried', 'depth', 4, 8),
    decision('reverted', 'depth', 4, 8, -0.1),
    decision('kept', 'workers', 2, 3, 0.1),
    decision('kept', 'depth', 4, 2),
  )
  expect(tuned.line).toBe('tuned: workers 1 → 2 (+80 %) → 3 (+10 %), depth 4 → 2')
  expect(tuned.settled('workers', 3)).toBe(3)
  expect(tuned.decisions).toHaveLength(6)
})

test('a trial is not what the run is set to', () => {
  const tuned = after(decision('kept', 'workers', 1, 2, 0.8), decision('tried', 'workers', 2, 5))
  expect(tuned.line).toBe('tuned: workers 1 → 2 (+80 %); it was trying workers 5')
  expect([tuned.settled('workers', 5), tuned.settled('depth', 4)]).toEqual([2, 4])
  tuned.add(decision('reverted', 'workers', 2, 5))
  expect(tuned.line).toBe('tuned: workers 1 → 2 (+80 %)')
})

test('why nothing was kept; and nothing where it decided nothing', () => {
  expect(after(decision('frozen', null)).line).toBe('tuned: nothing. A reason.')
  expect(after().line).toBeUndefined()
})
