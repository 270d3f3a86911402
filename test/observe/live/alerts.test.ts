/** Alerts: their rules, when they fire, and when they end. */
import { describe, expect, test } from 'vitest'
import { parseAlert } from '../../../src/observe/live/alert-rules.js'
import { Alerts } from '../../../src/observe/live/alerts.js'
import type { RunRecord } from '../../../src/observe/live/record.js'
import { losing, recordOf } from './records.js'

describe('rules', () => {
  test.each([
    ['lost>5% 60s', { subject: 'lost', above: true, limit: 0.05, seconds: 60 }],
    [' lost > 5 % ', { subject: 'lost', limit: 0.05, seconds: 60 }],
    ['wait>10ms 30s', { subject: 'wait', limit: 10, seconds: 30 }],
    ['wait>1s 1m', { subject: 'wait', limit: 1000, seconds: 60 }],
    ['samples<1000/s 60s', { subject: 'samples', above: false, limit: 1000, seconds: 60 }],
    ['samples<1000', { subject: 'samples', above: false, limit: 1000, seconds: 60 }],
    ['gpu<50% 5m', { subject: 'gpu', above: false, limit: 0.5, seconds: 300 }],
    ['rss>20GB', { subject: 'rss', limit: 20e9, seconds: 0 }],
    ['rss>=1.5gib', { subject: 'rss', limit: 1.5 * 2 ** 30, seconds: 0 }],
    ['bad>10', { subject: 'bad', limit: 10, seconds: 0 }],
    ['silent 120s', { subject: 'silent', above: true, limit: 120, seconds: 0 }],
    ['SILENT 2h', { subject: 'silent', limit: 7200 }],
  ])('%s', (text, rule) => {
    expect(parseAlert(text)).toMatchObject({ text: text.trim(), ...rule })
  })

  test.each([
    ['', 'expected a subject'],
    ['lost', 'expected a subject'],
    ['lost>', 'expected a subject'],
    ['lots>5% 60s', '"lots" is nothing that is known of a run: lost, wait'],
    ['toString>5', '"toString" is nothing'],
    ['lost>5 60s', '"5" is no amount of "lost": such as lost>5% 60s'],
    ['lost>5ms 60s', '"5ms" is no amount of "lost"'],
    ['lost>1.2.3% 60s', 'is no amount of "lost"'],
    ['lost>5% sixty', '"sixty" is no time from 1s to 24h'],
    ['lost>5% 0s', '"0s" is no time'],
    ['lost>5% 25h', '"25h" is no time'],
    ['rss>20', '"20" is no amount of "rss": such as rss>20GB'],
    ['silent', 'expected a subject'],
    ['silent 120', '"120" is no time'],
    ['silent 0.01s', '"0.01s" is no time from 1s'],
    ['lost>500%', 'can never be so'],
    ['lost>100%', 'can never be so'],
    ['samples<0/s', 'can never be so'],
    ['gpu<200%', 'would always be so'],
  ])('%j is refused', (text, message) => {
    expect(() => parseAlert(text)).toThrow(message)
    expect(() => parseAlert(text)).toThrow(`alert "${text}"`)
    expect(() => parseAlert(text)).toThrow('Rules look like lost>5% 60s')
  })
})

/** Which seconds a rule fires and ends in. */
function changes(rule: string, seconds: readonly Partial<RunRecord>[]): string[] {
  const alerts = new Alerts([rule])
  return seconds.flatMap((more, second) =>
    alerts.look(recordOf(second, more)).map(({ since }) => `${second} ${since === null ? 'ended' : 'fired'}`),
  )
}

const during = (count: number, more: Partial<RunRecord>) => Array.from({ length: count }, () => more)

describe('an alert', () => {
  test('fires when the mean of its time is beyond the limit, and ends when it is well within', () => {
    const seconds = [...during(20, losing(0.11)), ...during(20, losing(0))]
    // Less than 4 % are lost on average once seven of ten seconds lose nothing.
    expect(changes('lost>5% 10s', seconds)).toEqual(['8 fired', '26 ended'])
  })

  test('does not fire for one bad second, nor again and again about its limit', () => {
    expect(changes('lost>5% 10s', [...during(20, losing(0)), losing(0.4), ...during(20, losing(0))])).toEqual(
      [],
    )
    const about = Array.from({ length: 200 }, (_, i) => losing(i % 2 === 0 ? 0.09 : 0.012))
    expect(changes('lost>5% 10s', about)).toEqual(['8 fired'])
  })

  test('long steps count as much as they took', () => {
    const none = { steps: 0, samples: 0, stepMs: null, lost: null, parts: null }
    const step = { ...losing(0.2), steps: 1, stepMs: 9000 }
    const quick = { ...losing(0), steps: 1, stepMs: 1 }
    expect(changes('lost>10% 20s', [...during(9, none), step, quick, ...during(8, none)])).toEqual([
      '17 fired',
    ])
    expect(changes('lost>10% 20s', during(100, none))).toEqual([])
  })

  test('a writer that was held up is no gap', () => {
    expect(changes('lost>5% 30s', during(4, { ...losing(0.1), seconds: 10 }))).toEqual(['2 fired'])
  })

  test('waits are means of a step: all that it waits', () => {
    expect(changes('wait>10ms 5s', during(10, { ...losing(0.2), stepMs: 100 }))).toEqual(['4 fired'])
    expect(changes('wait>10ms 5s', during(10, { ...losing(0.05), stepMs: 100 }))).toEqual([])
  })

  test('a rate that falls, and comes back', () => {
    const seconds = [...during(10, {}), ...during(10, { samples: 10 }), ...during(10, {})]
    expect(changes('samples<100/s 5s', seconds)).toEqual(['13 fired', '21 ended'])
  })

  test('memory, bad samples and the GPU', () => {
    const memory = [1e9, 3e9, 1.9e9, 1.5e9].map(bytes => ({ memory: { bytes, limit: null } }))
    expect(changes('rss>2GB', memory)).toEqual(['1 fired', '3 ended'])
    expect(changes('rss>2GB', during(5, { memory: null }))).toEqual([])
    expect(changes('bad>2', [{ bad: 0 }, { bad: 2 }, { bad: 3 }, { bad: 9 }])).toEqual(['2 fired'])
    const gpu = { name: 'H200', hasWork: 0.2, smActive: null, memoryBytes: null, watts: null }
    expect(changes('gpu<50% 3s', during(5, { gpu }))).toEqual(['2 fired'])
    expect(changes('gpu<50% 3s', during(5, { gpu: { ...gpu, hasWork: null } }))).toEqual([])
  })

  test('silence', () => {
    const none = { steps: 0, samples: 0, stepMs: null, lost: null, parts: null }
    expect(changes('silent 5s', [...during(3, {}), ...during(8, none), {}])).toEqual(['8 fired', '11 ended'])
  })

  test('says what it saw, and why', () => {
    const why = {
      ...{ verdict: 'under-parallel' as const, second: null, sentence: 'Your trainer loses 10 %: …' },
      ...{ remedy: null, lost: 0.1, seconds: 15 },
    }
    const alerts = new Alerts(['lost>5% 2s', 'rss>20MB'])
    const told = [0, 1].flatMap(second => alerts.look(recordOf(second, { ...losing(0.1), why })))
    expect(told.map(({ text }) => text)).toEqual([
      'rss>20MB: 1 GB of memory',
      'lost>5% 2s: 10 % lost over 2 s. Your trainer loses 10 %: …',
    ])
    expect(told[1].since).toBe(recordOf(1).time)
    expect(alerts.firing).toEqual([told[1], told[0]])
  })
})
