/** States: small, readable, and refused with the reason where they don't fit. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StateError } from '../../basics/errors.js'
import { checkState, encodeState, makeState, readState, type StateFeed } from '../../order/state.js'

const description = {
  hash: '0123456789abcdef',
  source: 'tar',
  count: 1_281_167,
  digest: 'fedcba9876543210',
  marks: { parts: 1000, digits: 'abcd'.repeat(64) },
  combinators: '0011223344556677',
  order: 'window 4096',
  seed: 7,
}
const feed: StateFeed = {
  hashes: { order: description.hash, content: 'cccccccccccccccc' },
  description,
  length: 1_281_167,
  feed: { batch: { last: 'keep' } },
}

test('a state survives its file and is under 1 kB', () => {
  const place = { epoch: 123_456, position: 1_281_000 }
  const changes = [{ at: 5_000_000_000, weights: [0.1, 0.2, 0.7] }]
  const state = makeState(feed, place, changes)
  expect(readState(encodeState(state))).toEqual(state)
  expect(readState(JSON.parse(encodeState(state)))).toEqual(state)
  expect(encodeState(state).length).toBeLessThan(1024)
  expect(checkState(state, feed)).toEqual([])
  expect(makeState(feed, place)).not.toHaveProperty('changes')
})

describe('a state of another feed', () => {
  const state = makeState(feed, { epoch: 0, position: 5 })

  test('with another order is refused, and told what differs', () => {
    const other = { ...description, hash: 'ffffffffffffffff', seed: 8, count: 1000 }
    const check = () =>
      checkState(state, { ...feed, hashes: { ...feed.hashes, order: other.hash }, description: other })
    expect(check).toThrow(StateError)
    expect(check).toThrow(/had 1281167 samples and now has 1000 samples.*seed was 7 and is now 8.*start anew/)
  })

  test('with other content gives a notice', () => {
    const notices = checkState(state, { ...feed, hashes: { ...feed.hashes, content: 'dddddddddddddddd' } })
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(/fields/)
  })

  test('that stands beyond the epoch is refused', () => {
    expect(() => checkState(state, { ...feed, length: 4 })).toThrow(/position 5.*has 4 samples/)
  })
})

describe('what is no state is refused by name', () => {
  const good = makeState(feed, { epoch: 1, position: 2 })
  test.each([
    [null, /JSON object/],
    [[], /JSON object/],
    ['{"version": 1,', /no JSON/],
    [{ ...good, version: 2 }, /version 2/],
    [{ model: 1, optimizer: 2 }, /no state of a feed, .* keys model, optimizer/],
    [{}, /no state of a feed, .* nothing in it/],
    [{ ...good, order: 5 }, /"order".*a hash.*5/],
    [{ ...good, epoch: -1 }, /"epoch"/],
    [{ ...good, position: 1.5 }, /"position"/],
    [{ ...good, describe: null }, /"describe"/],
    [{ ...good, changes: 3 }, /"changes"/],
    [{ ...good, changes: [null] }, /changes\[0\]\.at/],
    [{ ...good, changes: [{ at: 1, weights: [-1] }] }, /changes\[0\]\.weights/],
    [{ ...good, changes: [{ at: 1, weights: [1], drawn: 1 }] }, /changes\[0\]\.drawn/],
    [{ ...good, changes: [{ at: 1, weights: [1], drawn: [0.5] }] }, /changes\[0\]\.drawn/],
  ])('%j', (value, message) => {
    expect(() => readState(value)).toThrow(StateError)
    expect(() => readState(value)).toThrow(message)
  })

  test('anything at all is read or refused, never crashes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.json(), fc.string()), value => {
        try {
          readState(value)
        } catch (error) {
          expect(error).toBeInstanceOf(StateError)
        }
      }),
      { seed: 1 },
    )
  })
})
