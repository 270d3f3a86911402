/** What the page makes of events, apart from how it looks. */
import { describe, expect, test } from 'vitest'
import { type Point, thinned, times } from '../../../page/draw/scale.js'
import { spanOf, waysOf } from '../../../page/draw/ways.js'
import { EMPTY, timeOf, withFirstHello, withHello, withNow } from '../../../page/state/store.js'
import { headline } from '../../../page/words/headline.js'
import { START } from './looks.js'
import { hello, SCENES } from './scenes.js'

const scene = SCENES.underParallel()
const [now] = scene.nows
const live = withNow(withHello(EMPTY, scene.hello), now)

describe('what is known', () => {
  test('a second becomes a point of the rank that loses most', () => {
    const worst = Math.max(...now.ranks.map(({ lost }) => lost ?? 0))
    expect(live.history).toHaveLength(1)
    expect(live.history[0].lost).toBe(worst)
    expect(live.history[0].time).toBe(timeOf(now))
    const samples = now.ranks.reduce((sum, rank) => sum + rank.samples, 0)
    expect(live.history[0].samplesPerSecond).toBeCloseTo(samples, 6)
  })

  test('an hour is kept, and no more', () => {
    const old = { ...live.history[0], time: START - 3_600_001 }
    const young = { ...live.history[0], time: START - 3_500_000 }
    const after = withNow({ ...live, history: [old, young] }, now)
    expect(after.history.map(({ time }) => time)).toEqual([young.time, timeOf(now)])
  })

  test('another run begins anew; a run that is gone stays', () => {
    const gone = withHello(live, hello({ run: null }))
    expect(gone.now).toBe(now)
    expect(gone.hello?.run).toEqual(scene.hello.run)
    const other = withHello(live, hello({ run: { ...scene.hello.run!, trainer: 7 } }))
    expect(other.now).toBeNull()
    expect(other.history).toEqual([])
  })

  test('a second that the past ends with is there once', () => {
    const again = withNow(live, now)
    expect([again.history, again.recent].map(list => list.length)).toEqual([1, 1])
    expect(withNow(again, scene.nows[1]).history).toHaveLength(2)
  })

  test('a stream that begins tells whether the run has ended', () => {
    const stale = { ...live, ended: { reason: 'x', time: 1 } }
    expect(withFirstHello(stale, scene.hello).ended).toBeNull()
    expect(withFirstHello(stale, hello({ run: null })).ended).toEqual({ reason: 'x', time: 1 })
  })
})

describe('words', () => {
  test('a trainer without a GPU is not called one', () => {
    const bare = {
      ...now,
      ranks: now.ranks.map(rank => ({ ...rank, gpu: null })),
      worst: {
        ...now.worst!,
        evidence: { ...now.worst!.evidence, facts: { ...now.worst!.evidence.facts, device: undefined } },
      },
    }
    expect(headline(withNow(live, bare)).what).toMatch(/^Your 4 trainers lose up to/)
  })

  test('what is not certain is not said as if it were', () => {
    const diagnosis = {
      ...now.worst!.diagnosis,
      verdict: 'inconclusive' as const,
      second: 'variance' as const,
    }
    const unsure = { ...now, worst: { ...now.worst!, diagnosis } }
    const { tone, what, why } = headline(withNow(live, unsure))
    expect(tone).toBe('unknown')
    expect(`${what} ${why}`).toMatch(
      /lose up to \d+ %; why is not certain: perhaps workers are fast enough on average/,
    )
  })
})

describe('drawing', () => {
  const plot = { from: 0, to: 1000, top: 1, width: 100, height: 50 }

  test('more points than pixels are joined to means, and gaps stay', () => {
    const points = Array.from({ length: 1000 }, (_, i): Point => [i, i < 500 ? i % 2 : null])
    const few = thinned(points, plot)
    expect(few.length).toBe(50)
    expect(few[0][1]).toBeCloseTo(0.5, 6)
    expect(few[49][1]).toBeNull()
  })

  test('times of an axis are round, and within it', () => {
    const hour = { ...plot, from: START - 3_600_000 + 1234, to: START + 1234, width: 600 }
    const found = times(hour, 84)
    expect(found.length).toBeGreaterThan(3)
    for (const time of found) {
      expect(time % 60_000).toBe(0)
      expect(time).toBeGreaterThanOrEqual(hour.from)
      expect(time).toBeLessThanOrEqual(hour.to)
    }
  })

  test("three ways are drawn as long as the model's steps say", () => {
    const { fit } = scene.looked!
    const span = spanOf(fit, {})
    for (const { name, pieces, lost, lanes } of waysOf(fit, {})) {
      expect(pieces.every(({ from, to, lane }) => from >= 0 && to <= span + 1e-6 && lane < lanes)).toBe(true)
      const trains = pieces
        .filter(({ kind }) => kind === 'train')
        .reduce((sum, { from, to }) => sum + to - from, 0)
      // A whole step more or less lies within so short a picture.
      expect(Math.abs(1 - trains / span - lost), name).toBeLessThan(0.12)
    }
  })
})
