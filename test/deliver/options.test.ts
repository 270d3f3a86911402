/** What `open` says of options and feeds that can't be meant. */
import { describe, expect, it } from 'vitest'
import { open } from '../../src/deliver/open.js'
import { fillOptions, type OpenOptions } from '../../src/deliver/options.js'

describe('an option', () => {
  it.each([
    [{ depth: '4' }, 'options.depth: expected a whole number from 1 to 32, not "4"'],
    [{ workers: 'many' }, 'options.workers: expected a whole number from 0 to 256, or "auto", not "many"'],
    [{ timeout: 0 }, 'options.timeout: expected seconds, more than 0, not 0'],
    [{ timeout: '60' }, 'options.timeout: expected seconds, more than 0, not "60"'],
  ])('%j is refused', (options, message) => {
    expect(() => fillOptions(options as OpenOptions)).toThrow(message)
  })

  it.each([
    [{ wrokers: 2 }, 'options.wrokers: unknown option; did you mean "workers"?'],
    [{ prefetch: 2 }, /^options\.prefetch: unknown option; known: workers, depth, /],
  ])('%j is not one', (options, message) => {
    const feed = { source: { synthetic: { count: 8 } }, fields: { x: { from: 'cls', as: 'int' } }, batch: 4 }
    expect(() => open(feed as never, options as OpenOptions)).toThrow(message)
  })

  it('may be left undefined', () => {
    expect(fillOptions({ workers: undefined, timeout: undefined, steps: undefined }).timeout).toBe(60)
  })
})

it.each(['cats.json', undefined, null, []])('%j is no feed', feed => {
  expect(() => open(feed as never)).toThrow(/^open takes a feed, made by feed\(\{ … \}\).*, not /)
})
