/** A check of one change: what it sets when, and what it makes of the rates that it sees. */
import { describe, expect, test } from 'vitest'
import { simulate } from '../../../../test/support/simulated/simulate.js'
import type { Setting } from '../../../core/deliver/ring-tuner.js'
import { account } from '../../account/account.js'
import { Check, type CheckResult } from '../../tune/check.js'
import type { Candidate, Room, Seen } from '../../tune/seen.js'

const room: Room = { workers: 64, depth: 32, claim: null, freeBytes: 2 ** 34, workerBytes: 2 ** 25 }
const candidate: Candidate = {
  ring: 1,
  knob: 'workers',
  from: 1,
  to: 2,
  predicted: { gain: 0.5, interval: [0.3, 0.7] },
}

/** A window in which samples come at `rate` times that of another one, with some noise. */
function seen(rate: number, seed: number, others = 0): Seen {
  const evidence = simulate({
    workers: 1,
    depth: 4,
    claims: 4,
    rows: 32,
    cores: 4,
    cpu: 1 / rate,
    blocked: 0,
    step: 5,
    steps: 60,
    seed,
    spread: 0.05,
  })
  if (evidence.host) evidence.host.otherCores = others
  return { ring: 1, feed: 'photos', evidence, room }
}

/** Runs a check in which the change makes things `gain` times as fast, until it is over. */
function run(gain: number, others: (turn: number) => number = () => 0): CheckResult & { set: Setting[] } {
  const first = seen(1, 1, others(0))
  const check = new Check(candidate, { ...first, accounting: account(first.evidence) }, 0)
  const set = [...check.begin(0).settings]
  for (let turn = 1; turn < 100; turn++) {
    const changed = set.at(-1)!.value === candidate.to
    const result = check.goOn(
      check.until,
      check.measures ? [seen(changed ? gain : 1, turn, others(turn))] : [],
    )
    if (result) return { ...result, set: [...set, ...result.settings] }
    set.push(...check.take())
  }
  throw new Error('it never ends')
}

describe('a check', () => {
  test('goes to and fro between both settings, and keeps what is faster', () => {
    const { kept, set, measured } = run(1.2)
    expect(kept).toBe(true)
    expect(set.map(({ value }) => value)).toEqual([2, 1, 2])
    expect(measured!.gain).toBeGreaterThan(0.1)
    expect(measured!.gain).toBeLessThan(0.3)
    expect(measured!.interval[0]).toBeLessThan(measured!.gain)
  })

  test('keeps what is much faster after one turn', () => {
    const { kept, set } = run(2)
    expect(kept).toBe(true)
    expect(set.map(({ value }) => value)).toEqual([2])
  })

  test('sets back what is not faster, and says so', () => {
    const { kept, set, measured } = run(1)
    expect(kept).toBe(false)
    expect(set.at(-1)!.value).toBe(1)
    expect(Math.abs(measured!.gain)).toBeLessThan(0.05)
  })

  test('does not set a change again that was clearly slower', () => {
    const { kept, set, early } = run(0.5)
    expect(kept).toBe(false)
    expect(set.map(({ value }) => value)).toEqual([2, 1, 1])
    expect(early).toContain('slower')
  })

  test('does not take cores that neighbours leave for a gain', () => {
    // The change does nothing; whenever it is set, others use half of the four cores less.
    const others = (turn: number) => (turn % 4 < 2 ? 2 : 0)
    const { kept } = run(1, others)
    expect(kept).toBe(false)
  })

  test('is given up where the trainer makes no steps', () => {
    const first = seen(1, 1)
    const check = new Check(candidate, { ...first, accounting: account(first.evidence) }, 0)
    check.begin(0)
    let result: CheckResult | undefined
    for (let turn = 0; turn < 10 && result === undefined; turn++) result = check.goOn(check.until, [])
    expect(result).toMatchObject({ kept: false, early: 'the trainer made no steps' })
    expect(result!.settings).toEqual([{ ring: 1, knob: 'workers', value: 1 }])
  })
})
