/** What figures of storage mean: on made figures. */
import { describe, expect, test } from 'vitest'
import { adviceOf, fastest } from '../../../prepare/probe/advice.js'
import { KIB, MEASURES, type Place } from '../../../prepare/probe/measures.js'
import { type Probed, speed } from '../../../prepare/probe/probe.js'

/** Figures in MB/s for the measures in their order; undefined: none. */
function probed(place: Place, rates: readonly (number | undefined)[], more: Partial<Probed> = {}): Probed {
  const none = { cold: null, warm: null, unknown: null }
  const measures = MEASURES.map((measure, i) => {
    const rate = rates[i]
    const found = rate === undefined ? null : { opsPerSecond: 1, bytesPerSecond: rate * 1e6, ms: 1, ops: 9 }
    return { ...measure, ...none, [place]: found }
  })
  const files = { files: 1000, bytes: 5e9, medianBytes: 10 * KIB, more: false }
  return { path: '/data', fileSystem: 'ext4', far: false, ...files, ...more, measures }
}

const advice = (found: Probed, free = 0) => found.measures.map(one => adviceOf(one, found, free))

describe('advice', () => {
  test.each([
    [[10, 80, 300], '3.8 times of what 8 in flight give: take --workers 16 or more'],
    [[506, 1008, 1020], 'no more than what 8 in flight give'],
    [[10, 80, 90], 'little more than what 8 in flight give: more than 8 workers gain little'],
  ])('reads in flight %j', (rates, text) => {
    expect(advice(probed('cold', [100, ...rates]))[3]).toContain(text)
    expect(advice(probed('warm', [100, ...rates]))[3]).toContain('a figure of memory, not of the storage')
  })

  test('small files that are slow are packed', () => {
    const rates = [100, 100, 110, 120, 2.2]
    expect(advice(probed('cold', rates, { path: "/it's mine" }))[4]).toBe(
      "2 % of what large reads give, and half of the files are smaller than 10 KiB: millrace pack '/it'\\''s mine' --out shards",
    )
    expect(advice(probed('cold', [100, 100, 110, 120, 90]))[4]).toBe('')
    expect(advice(probed('cold', rates, { medianBytes: 1e6 }))[4]).toBe('')
    expect(advice(probed('cold', [...[1, 1].fill(100), undefined, 120, 2.2]))[4]).toContain(
      '--write measures',
    )
  })

  test('data that fit into memory; what was not measured', () => {
    expect(advice(probed('cold', [100]), 6e9)[0]).toContain('fit into free memory')
    expect(advice(probed('cold', [100]), 4e9)[0]).toBe('')
    expect(advice(probed('cold', [100], { more: true }), 6e9)[0]).toBe('')
    expect(advice(probed('cold', [100]))[1]).toContain('no file of 512 KiB or more')
  })
})

test('the fastest of several paths is named; cold is not compared with warm', () => {
  const [slow, fast] = [probed('cold', [100]), probed('cold', [320], { path: '/nvme' })]
  expect(fastest([slow, fast])).toBe('/nvme is the fastest: 3.2 times of /data (by sequential, cold)')
  expect(fastest([slow, probed('cold', [104], { path: '/b' })])).toContain('/b and /data are about equally')
  expect(fastest([slow, probed('warm', [9000], { path: '/b' })])).toContain('can not be compared')
  expect(fastest([slow])).toBeUndefined()
})

test('a speed is over the wall time of all threads, shared out among the places', () => {
  const pass = (begin: number, cold: number, warm: number) => {
    const tally = (ms: number) => ({ ops: ms, bytes: 1000 * ms, ms })
    return { begin, end: begin + 100, tallies: { cold: tally(cold), warm: tally(warm), unknown: tally(0) } }
  }
  expect(speed('cold', [pass(0, 80, 0), pass(100, 80, 0)])).toEqual({
    opsPerSecond: 800,
    bytesPerSecond: 800e3,
    ms: 1,
    ops: 160,
  })
  expect(speed('warm', [pass(0, 75, 25)])).toMatchObject({ opsPerSecond: 1000, ops: 25 })
  expect(speed('unknown', [pass(0, 75, 25)])).toBeNull()
  expect(speed('cold', [pass(0, 1, 0), pass(0, 0, 0)])).toBeNull() // one of two threads had nothing to read
})
