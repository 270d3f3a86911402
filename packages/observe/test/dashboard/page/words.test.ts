/** What the page says: no figure without its window and its ranks, no advice that can't be taken, no sign that claims too much. */
import { describe, expect, test } from 'vitest'
import type { Now } from '../../../dashboard/view.js'
import { predict } from '../../../model/predict.js'
import { apart } from '../../../page/draw/scale.js'
import { EMPTY, lastWord, memoryOf, type State, withHello, withNow } from '../../../page/state/store.js'
import { costOf, lossOf, windowOf, worstOf } from '../../../page/state/worst.js'
import { ceilingOf, gainWords, measuredWords } from '../../../page/words/gain.js'
import { batchSize, shownWords } from '../../../page/words/gallery.js'
import { headline } from '../../../page/words/headline.js'
import { copyOf, titleOf } from '../../../page/words/remedy.js'
import { settingOf, stateOf } from '../../../page/words/tuner.js'
import { asAdvised, knobsOf, limitWords, ratesOf } from '../../../page/words/what-if.js'
import { gallery } from './feed.js'
import { SCENES, type Scene } from './scenes.js'

const scene = SCENES.underParallel()
const [now] = scene.nows

/** The page after the first second of a scene. */
function shown({ hello, history, nows }: Scene): State {
  const state = { ...withHello(EMPTY, hello), history, link: 'live' as const }
  return nows.length === 0 ? state : withNow(state, nows[0])
}

function diagnosed(more: Partial<NonNullable<Now['worst']>['diagnosis']>): Now {
  return { ...now, worst: { ...now.worst!, diagnosis: { ...now.worst!.diagnosis, ...more } } }
}

describe('one window', () => {
  test('the rank that loses most has the figure of the sentence, whatever the last second was', () => {
    const { lost, rank } = worstOf(now)!
    const jumped = { ...now, ranks: now.ranks.map(one => ({ ...one, lost: 0.9 })) }
    expect(lossOf(jumped, jumped.ranks[rank])).toBe(lost)
    expect(lossOf(jumped, jumped.ranks[0])).toBe(now.ranks[0].why!.lost)
    expect(headline(withNow(shown(scene), jumped)).window).toMatch(/^last \d+ s$/)
  })

  test('of several ranks that differ, the worst is said to be the worst', () => {
    expect(headline(shown(scene)).what).toMatch(/^Your 4 GPUs lose up to \d+ % of their time:$/)
    expect(headline(shown(scene)).why).toMatch(/^Rank 2 loses most: /)
  })

  test('waiting costs what each rank loses itself', () => {
    const sum = now.ranks.reduce((all, { why }) => all + why!.lost, 0)
    expect(costOf(now, 3)).toEqual({ dollars: expect.closeTo(sum * 72, 6), ranks: 4 })
    expect(
      costOf({ ...now, worst: null, ranks: now.ranks.map(one => ({ ...one, why: null })) }, 3),
    ).toBeNull()
  })

  test('ranks of one process have their memory in common', () => {
    const here = now.ranks.map(one => ({ ...one, trainer: 7, engine: 7, memory: { bytes: 5, limit: 9 } }))
    expect(memoryOf(here)).toEqual({ bytes: 5, limit: 9 })
    const there = { ...here[0], host: 'node-18' }
    expect(memoryOf([...here, there])).toEqual({ bytes: 10, limit: 18 })
  })
})

describe('the sentence', () => {
  test('of several runs one is to be chosen', () => {
    expect(headline(shown(SCENES.choose())).what).toBe('3 runs are here: choose one.')
    expect(headline(shown(SCENES.nothing())).what).toBe('No run yet.')
    const gone = SCENES.choose()
    gone.hello.missing = '7.1'
    expect(headline(shown(gone)).why).toBe('The run 7.1 is not here any more.')
  })

  test('a tick stands only where next to nothing is lost', () => {
    const sure = headline(withNow(shown(scene), diagnosed({ verdict: 'compute-bound', lost: 0.01 })))
    expect(sure.tone).toBe('good')
    const unsure = headline(withNow(shown(scene), diagnosed({ verdict: 'compute-bound', lost: 0.076 })))
    expect(unsure.tone).toBe('unknown')
    expect(unsure.what).toContain('7.6 %, or nothing')
  })

  test('a trainer that ends no step stands still, and is not said to wait little', () => {
    const { what, why, tone } = headline(shown(SCENES.still()))
    expect(what).toBe('Your GPU stands still:')
    expect(why).toMatch(/^no step ended for 2\d\ss, though 7 batches lie ready/)
    expect(tone).toBe('hint')
    expect(windowOf(shown(SCENES.still()))).toBe('before that')
    const ended = { ...shown(SCENES.still()), ended: { reason: 'over', time: 1 } }
    expect(headline(ended).what).toContain('hardly ever waits')
    expect(lastWord(ended)).toBe('end')
    expect(windowOf(ended)).toMatch(/^last \d+ s of the run$/)
  })

  test('what a log tells is said without its own advice', () => {
    const { tone, what, why, remedy } = headline(shown(SCENES.told()))
    expect(tone).toBe('loss')
    expect(what).toMatch(/^Your 4 GPUs lose up to \d+ % of their time:$/)
    expect(why).toBe("Rank 2 loses most: 4 workers can't decode fast enough, and cores are free.")
    expect(remedy).toEqual(now.worst!.diagnosis.remedies[0])
  })
})

describe('advice', () => {
  test('only what runs as it is can be copied', () => {
    expect(copyOf({ command: 'taskset -cp CORES PID' })).toBeNull()
    expect(copyOf({ command: 'millrace pack FOLDER --out SHARDS' })).toBeNull()
    expect(copyOf({})).toBeNull()
    expect(copyOf({ command: '--workers 7' })).toEqual({ text: '--workers 7', what: 'option' })
    expect(copyOf({ command: 'decode="gpu"' })?.what).toBe('option')
    expect(copyOf({ command: 'millrace doctor' })?.what).toBe('command')
  })

  test('a remedy has a title', () => {
    expect(titleOf({ action: '7 workers in place of 4: --workers 7' })).toEqual({
      title: '7 workers instead of 4',
      detail: '--workers 7',
    })
    expect(titleOf({ action: '7 workers in place of 4: --workers 7' }, true).title).toBe(
      '7 workers a rank instead of 4',
    )
    expect(titleOf({ action: 'A larger batch' })).toEqual({ title: 'A larger batch', detail: '' })
  })

  test('an interval ends at what is possible, and says so', () => {
    expect(gainWords(0.68, [0.42, 0.94], 0.69)).toBe('+68 % (+42 to +69 at most)')
    expect(gainWords(0.38, [0.3, 0.46], 0.69)).toBe('+38 % (±8)')
    expect(gainWords(0.45, [-0.03, 0.5], 0.46)).toBe('gain not certain, perhaps +45 %')
    // A larger batch gains what no better data could; of an ideal step that may be shorter there is no most.
    expect(gainWords(0.9, [0.8, 1], 0.69)).toBe('+90 % (±10)')
    expect(ceilingOf(now)).toBeCloseTo(now.worst!.diagnosis.ceiling!, 6)
    const { accounting } = now.worst!
    const upper = { ...now.worst!, accounting: { ...accounting, idealFrom: 'upper' as const } }
    expect(ceilingOf({ ...now, worst: upper })).toBeNull()
    expect(measuredWords(-0.08, [-0.1, -0.06])).toBe('−8 % (±2)')
  })
})

describe('the tuner', () => {
  test('who decodes is said in words', () => {
    expect(settingOf({ knob: 'decode', from: 20, to: 0 })).toBe('decoding on the CPU → the GPU')
    expect(settingOf({ knob: 'decode', from: 0, to: 13 })).toContain('both, 65 % of them on the CPU')
    expect(settingOf({ knob: 'decode', from: 20, to: 20 })).toBe('decoding on the CPU, as before')
    expect(settingOf({ knob: 'ahead', from: 64, to: 128 })).toBe('rows hinted ahead 64 → 128')
  })

  test('what it tries is named as everywhere', () => {
    const [decision] = SCENES.tunerChecks().nows[0].tuner!.decisions
    expect(stateOf({ state: '', decisions: [decision] })).toMatch(
      /^Trying workers 2 → \d+, predicted \+\d+ % \(.*\), in turns/,
    )
    const tries = { ...decision, knob: 'decode' as const, from: 20, to: 0, predicted: null }
    expect(stateOf({ state: 'checking decode = 0', decisions: [tries] })).toBe(
      'Trying decoding on the CPU → the GPU, in turns with what was: what is faster stays. You need do nothing.',
    )
    expect(stateOf({ state: 'looking', decisions: [] })).toBe('Looking.')
  })
})

describe('what if', () => {
  const { fit } = scene.looked!

  test('sliders say what is, though they can not stand there', () => {
    const few = { ...fit, cores: { value: 0.2, sigma: 0 } }
    const cores = knobsOf(few).find(({ name }) => name === 'cores for workers')!
    expect([cores.value, cores.now]).toEqual([0.5, '0.2'])
  })

  test('no feed could gain more only where nothing is lost', () => {
    expect(limitWords({ bound: 'trainer', lost: 0.01 })).toContain('No feed could gain more')
    expect(limitWords({ bound: 'cores', lost: 0.3 }, true)).toBe('The limit is then: the cores.')
    expect(limitWords({ bound: 'trainer', lost: 0.072 })).toMatch(/7\.2 % that are still lost/)
    expect(limitWords({ bound: 'cores', lost: 0.3 })).toBe('The limit: the cores.')
  })

  test('what the first sentence advises is said with its numbers', () => {
    const then = predict(fit, { workers: 7 })
    const advised = { action: '7 workers', predictedGain: 0.5, interval: [0.4, 0.6] as [number, number] }
    const remedies = [
      { ...advised, set: { depth: 7 } },
      { ...advised, set: { workers: 7 } },
    ]
    expect(asAdvised(then, { workers: 7 }, remedies)).toEqual({ ...then, gain: 0.5, interval: [0.4, 0.6] })
    expect(asAdvised(then, { workers: 8 }, remedies)).toEqual(then)
    expect(asAdvised(then, { workers: 7, depth: 9 }, remedies)).toEqual(then)
  })

  test('no rate is promised that the trainer could not take', () => {
    const change = { workers: 12 }
    const then = predict(fit, change)
    const most = (1000 * fit.rows) / fit.ideal
    const rates = ratesOf(fit, change, then, true)
    expect(then.interval[1]).toBeGreaterThan(rates.possible! / ((1000 * fit.rows) / fit.measured.value) - 1)
    expect(rates.most).toBeCloseTo(most, 6)
    expect(ratesOf(fit, change, then, false).most).toBeGreaterThan(most)
  })
})

test('the gallery says how many of how many rows it shows', async () => {
  const rows = await gallery(4)
  expect(shownWords(rows, batchSize(scene.hello.definition))).toMatch(/^4 of 256 rows .* so quickly that/)
  expect(shownWords({ ...rows, rows: [] }, null)).toMatch(/^0 rows/)
  expect(shownWords(await gallery(16), 256)).not.toContain('quickly')
})

test('signs that would overlap stand beside each other, within the chart', () => {
  expect(apart([10, 12, 80], 14, 100)).toEqual([10, 24, 80])
  expect(apart([95, 99, 100], 14, 100)).toEqual([72, 86, 100])
  const many = apart(
    Array.from({ length: 200 }, (_, i) => i / 10),
    14,
    100,
  )
  expect(many.every((at, i) => at > -1e-6 && at <= 100 && (i === 0 || at > many[i - 1]))).toBe(true)
})
