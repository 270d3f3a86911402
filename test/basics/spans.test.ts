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

  test('that are written over while they are read are left out', () => {
    const buffer = new SharedArrayBuffer(spanBytes(1))
    const lane = new SpanLane(buffer, 0)
    const records = (spanBytes(1) - 8) / 32
    const write = (batch: number): void => {
      beginSpans()
      while (performance.now() === last) last = performance.now()
      last = performance.now()
      markSpan(SpanKind.Read)
      lane.write(batch)
    }
    let last = 0
    for (let batch = 0; batch < records + 10; batch++) write(batch)
    const { load } = Atomics
    let loads = 0
    // The maker goes on while the records are being read: three more are there when it is looked again.
    Object.assign(Atomics, {
      load: (array: Int32Array, index: number) => {
        if (++loads === 2) for (let i = 0; i < 3; i++) write(records + 10 + i)
        return load(array, index)
      },
    })
    try {
      const batches = lane.read().map(({ batch }) => batch)
      expect(batches[0]).toBe(10 + 3 + 1)
      expect(batches.at(-1)).toBe(records + 9)
    } finally {
      Object.assign(Atomics, { load })
    }
  })
})
