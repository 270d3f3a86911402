/** What figures of storage mean: on made figures. */
import { describe, expect, test } from 'vitest'
import { compare, recommend } from '../../../src/prepare/probe/recommend.js'
import type { Measure, Probed, Speed } from '../../../src/prepare/probe/speed.js'

const KIB = 1024
const MB = 1e6
const speed = (bytesPerSecond: number, ms = 1): Speed => ({ opsPerSecond: 1, bytesPerSecond, ms, ops: 9 })
const none = { cold: null, warm: null, unknown: null }

function reads(place: 'cold' | 'warm' | 'unknown', one: number, eight: number, most: number): Measure[] {
  return [one, eight, most].map((rate, i) => {
    return { what: 'random', bytes: 128 * KIB, inFlight: [1, 8, 32][i], ...none, [place]: speed(rate * MB) }
  })
}

const sequential = (rate: number, place = 'cold'): Measure => {
  return { what: 'sequential', bytes: KIB * KIB, inFlight: 1, ...none, [place]: speed(rate * MB) }
}

const small = (rate: number, ms: number, place = 'cold'): Measure[] =>
  [1, 8].map(inFlight => ({ what: 'small files', inFlight, ...none, [place]: speed(rate * MB, ms) }))

function probed(measures: Measure[], more: Partial<Probed> = {}): Probed {
  const files = { files: 1000, bytes: 5e9, medianBytes: 10 * KIB, more: false }
  return { path: '/data', fileSystem: 'ext4', far: false, ...files, measures, ...more }
}

describe('advice', () => {
  test('small files that are slow: pack them', () => {
    const { summary, advice } = recommend(probed([sequential(110), ...small(2.5, 4)]))
    expect(summary).toBe('/data (ext4): 110 MB/s sequential, 4.0 ms a small file')
    expect(advice).toEqual([
      'half of its files are smaller than 10 KiB, and reading them one by one gives 2 % of what large reads give: pack into shards: millrace pack /data --out shards',
    ])
  })

  test('small files that are fast, or large files: nothing to pack', () => {
    expect(recommend(probed([sequential(110), ...small(100, 0.1)])).advice).toEqual([])
    expect(recommend(probed([sequential(110), ...small(2.5, 4)], { medianBytes: 1e6 })).advice).toEqual([])
  })

  test('figures of the storage and of the page cache are not compared', () => {
    const [advice] = recommend(probed([sequential(9000, 'warm'), ...small(2.5, 4)])).advice
    expect(advice).toBeUndefined()
  })

  test('a path with odd characters can be copied into a shell', () => {
    const odd = probed([sequential(110), ...small(2.5, 4)], { path: "/it's mine" })
    expect(recommend(odd).advice[0]).toContain("millrace pack '/it'\\''s mine' --out")
  })

  test.each([
    [reads('cold', 10, 80, 300), '32 reads in flight give 3.8 times of what 8 give: it is far away'],
    [reads('cold', 100, 300, 500), '32 reads in flight give 1.7 times of what 8 give: take many workers'],
    [
      reads('cold', 506, 1008, 1020),
      '8 reads in flight give 2.0 times of what one gives, and more give little',
    ],
    [reads('cold', 10, 80, 90), '8 workers are enough for reading'],
    [reads('cold', 100, 105, 100), 'its bandwidth is used up by one'],
  ])('reads in flight (%#)', (measures, text) => {
    expect(recommend(probed(measures)).advice.join()).toContain(text)
  })

  test('what was not measured is not advised on', () => {
    const [one, eight, most] = reads('cold', 10, 80, 90)
    const without = { ...most, cold: null, why: 'too little data' }
    expect(recommend(probed([one, eight, without])).advice).toEqual([
      '8 reads in flight give 8.0 times of what one gives: take 8 workers or more; whether more gain, there was too little data to say',
    ])
    expect(recommend(probed([one, { ...eight, cold: null }, most])).advice).toEqual([])
  })

  test('small files alone: there is nothing to compare with', () => {
    expect(recommend(probed(small(2.5, 4, 'warm'))).advice[0]).toContain('--write measures what packing')
  })

  test('small files from memory that are slower than large reads from the storage: pack them', () => {
    const [advice] = recommend(probed([sequential(700), ...small(100, 0.1, 'warm')])).advice
    expect(advice).toContain('reading them one by one, even from memory, gives 14 % of what large reads give')
  })

  test('what was all in memory says nothing about the storage', () => {
    const { summary, advice } = recommend(probed(reads('warm', 9000, 9000, 9000)))
    expect(summary).toContain('(from the page cache)')
    expect(advice).toEqual([expect.stringContaining('not of the storage')])
    expect(recommend(probed(reads('unknown', 90, 120, 130))).advice.join()).toContain('does not say')
  })

  test('a data set that fits into memory', () => {
    expect(recommend(probed([sequential(100)]), 6e9).advice).toEqual([
      expect.stringContaining('fits into free'),
    ])
    expect(recommend(probed([sequential(100)]), 4e9).advice).toEqual([])
    expect(recommend(probed([sequential(100)], { more: true }), 6e9).advice).toEqual([])
  })

  test('nothing measured', () => {
    expect(recommend(probed([])).summary).toBe('/data (ext4): nothing could be measured')
  })
})

describe('several paths', () => {
  const [slow, fast] = [probed([sequential(100)]), probed([sequential(320)], { path: '/nvme' })]

  test('the fastest is named', () => {
    expect(compare([slow, fast])).toBe('/nvme is the fastest: 3.2 times of /data (sequential reads)')
    expect(compare([slow, probed([sequential(104)], { path: '/b' })])).toBe(
      '/b and /data are about equally fast (sequential reads)',
    )
    expect(compare([slow])).toBeUndefined()
  })

  test('cold is not compared with warm', () => {
    expect(compare([slow, probed([sequential(9000, 'warm')], { path: '/b' })])).toContain(
      'can not be compared',
    )
  })
})
