/** Progress: one line with the rate, what is lost and why, and the time that is left. */
import { afterEach, describe, expect, test } from 'vitest'
import { simulate, type Workload } from '../../../../test/support/simulated/simulate.js'
import { account } from '../../../observe/account/account.js'
import type { Watched } from '../../../observe/live/watcher.js'
import { losing, recordOf } from '../../../observe/test/live/records.js'
import { conclude } from '../../../observe/verdict/judge.js'
import { LiveText } from '../../cli/live/progress.js'
import { Progress, showProgress } from '../../cli/progress.js'
import { millrace } from '../prepare/helpers.js'

/** What is seen of a computed run. */
function seen(workload: Partial<Workload>): Pick<Watched, 'record' | 'window'> {
  const all = { workers: 2, depth: 4, claims: 8, rows: 32, cores: 8, cpu: 1, blocked: 0, step: 10 }
  const evidence = simulate({ ...all, ...workload })
  evidence.probes.ideal = { ms: workload.step ?? all.step, from: 'given', steps: evidence.steps.length }
  const accounting = account(evidence)
  const window = { accounting, diagnosis: conclude(evidence, accounting), evidence }
  return { record: recordOf(1, losing(accounting.lost)), window }
}

describe('what is said of a run', () => {
  test('its rate, what it loses, and why', () => {
    const text = new LiveText().of(seen({}))
    expect(text).toMatch(/^320 samples\/s {2}lost [\d.]+ %: 2 workers can't .* fast enough/)
    expect(text).not.toContain('Your trainer loses')
  })

  test('no cause of a setting that is gone: what was lost in the last second', () => {
    const { record, window } = seen({})
    for (const change of [{ workers: 3 }, { depth: 8 }])
      expect(new LiveText().of({ record: { ...record, ...change, lost: 0.12 }, window })).toBe(
        '320 samples/s  lost 12.0 %',
      )
  })

  test('what was lost in the seconds of the rate, and no cause of seconds that lost much more', () => {
    const { window } = seen({})
    const before = window!.accounting.lost
    expect(before).toBeGreaterThan(0.3)
    const text = new LiveText()
    const all = [before, before, before, 0.08, 0.08, 0.08, 0.08, 0.08]
    const reported = all.map((lost, second) => text.of({ record: recordOf(second, losing(lost)), window }))
    expect(reported[2]).toContain(`lost ${(100 * before).toFixed(1)} %: 2 workers can't`)
    expect(reported[5]).toBe(`320 samples/s  lost ${(100 * (0.4 * before + 0.6 * 0.08)).toFixed(1)} %`)
    expect(reported[7]).toBe('320 samples/s  lost 8.0 %')
  })

  test('long steps count as much as they took', () => {
    const text = new LiveText()
    text.of({ record: recordOf(1, { ...losing(0), steps: 10, stepMs: 10 }), window: null })
    const long = recordOf(2, { ...losing(0.5), steps: 1, stepMs: 300 })
    expect(text.of({ record: long, window: null })).toBe('320 samples/s  lost 37.5 %')
  })

  test('nothing of causes where nothing is lost, nor of losses where nothing is computed', () => {
    expect(new LiveText().of(seen({ cpu: 0.01, step: 50 }))).toMatch(/^320 samples\/s {2}lost [\d.]+ %$/)
    expect(new LiveText(false).of(seen({}))).toMatch(/^320 samples\/s {2}2 workers can't/)
  })

  test('the rate alone until more is known; of the last seconds', () => {
    const text = new LiveText()
    const none = { lost: null, parts: null, stepMs: null }
    expect(text.of({ record: recordOf(1, none), window: null })).toBe('320 samples/s')
    expect(text.of({ record: recordOf(2, { ...none, samples: 0, steps: 0 }), window: null })).toBe(
      '160 samples/s',
    )
    expect(text.of({ record: recordOf(3, { ...losing(0.05), samples: 0 }), window: null })).toBe(
      '107 samples/s  lost 5.0 %',
    )
  })
})

/** A stream that keeps what is written to it. */
function screen(isTTY: boolean) {
  const written: string[] = []
  return { isTTY, columns: 200, written, write: (text: string) => written.push(text) }
}

describe('the line', () => {
  afterEach(() => showProgress(true))

  function drawn(isTTY: boolean, columns = 200): string[] {
    const stream = { ...screen(isTTY), columns }
    let now = 0
    const progress = new Progress('feeding', { unit: 'steps', total: 2000, stream, now: () => now })
    progress.tell("1,363 samples/s  lost 8.1 %: workers can't decode fast enough")
    for (const done of [620, 1240]) {
      now += 10_000
      progress.set(done)
    }
    progress.end()
    return stream.written
  }

  test('on a terminal is drawn again, with a bar', () => {
    const [, second, gone] = drawn(true)
    expect(second).toBe(
      `\r\x1b[Kfeeding ▕${'█'.repeat(14)}▉${' '.repeat(9)}▏ 62 %  1,240 of 2,000 steps  1,363 samples/s  lost 8.1 %: workers can't decode fast enough  12.3 s left`,
    )
    expect(gone).toBe('\r\x1b[K')
  })

  test('where it is narrow, the cause is cut, and not the time that is left', () => {
    const [, second] = drawn(true, 100)
    expect(second.length).toBeLessThanOrEqual(4 + 99)
    expect(second).toMatch(/1,363 samples\/s {2}lost .*… {2}12\.3 s left$/)
  })

  test('elsewhere is a line', () => {
    expect(drawn(false)[1]).toBe(
      "feeding  62 %  1,240 of 2,000 steps  1,363 samples/s  lost 8.1 %: workers can't decode fast enough  12.3 s left\n",
    )
  })

  test('is not shown where it is not wanted', () => {
    showProgress(false)
    expect(drawn(true)).toEqual([])
    expect(drawn(false)).toEqual([])
  })
})

describe('every verb', () => {
  const INLINE = JSON.stringify({
    source: { synthetic: { count: 64, tensors: { shape: [4], dtype: 'f32' } } },
    fields: { data: { from: 'data', as: 'npy', shape: [4], dtype: 'f32' } },
    batch: 8,
  })

  test('takes --progress and --no-progress', async () => {
    for (const flag of ['--progress', '--no-progress'])
      expect(await millrace('run', INLINE, '--workers', '0', flag, '--json')).toMatchObject({ code: 0 })
    const { stdout } = await millrace('pack', '--help')
    expect(stdout).toContain('--no-progress')
  })
})
