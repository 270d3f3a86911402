/** Spans: the latest of each maker, however many there were before. */
import { describe, expect, test } from 'vitest'
import { beginSpans, markSpan, SpanKind, SpanLane, spanBytes } from '../../src/basics/spans.js'

describe('spans', () => {
  test.each([0, 2 ** 31 - 2, 2 ** 32 - 40])('are read as they were written, after %i others', before => {
    const buffer = new SharedArrayBuffer(spanBytes(2))
    const lane = new SpanLane(buffer, 1)
    new Int32Array(buffer, spanBytes(1), 1)[0] = before
    for (let batch = 0; batch < 8; batch++) {
      beginSpans()
      for (const until = performance.now() + 0.1; performance.now() < until; );
      markSpan(SpanKind.Read)
      lane.write(batch)
    }
    const latest = lane.read().slice(-8)
    expect(latest.map(({ batch }) => batch)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(latest.every(({ kind, duration }) => kind === SpanKind.Read && duration > 0)).toBe(true)
  })
})
