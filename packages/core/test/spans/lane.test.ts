/** A lane of spans: what is written is read, small spans are joined, and what is lost or half written is counted. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { attachSpans } from '../../spans/attach.js'
import { monotonicMs, SpanClock } from '../../spans/clock.js'
import { type LaneRef, newSpanFile, openLane, type SpanFile } from '../../spans/file.js'
import type { SpanLane } from '../../spans/lane.js'
import { SpanReader, type SpanRecord } from '../../spans/reader.js'
import {
  COUNTER_BYTES,
  COUNTERS_AT,
  HeadAt,
  LANE_BYTES,
  LANES_AT,
  LaneKind,
  OWN_BYTES,
  RECORD_BYTES,
  RECORDS,
  RECORDS_AT,
  RING_BYTES,
  RINGS_AT,
  RingAt,
  SPAN_NAMES,
  SpanKind,
  SUM_BYTES,
  SUMS,
  SumAt,
} from '../../spans/span-words.js'
import { viewOf } from '../../system/memory/foreign.js'

const folder = temporaryFolder()

/** A file of spans, and the lane of its worker 0. */
function laneOf(): { file: SpanFile; lane: SpanLane; ref: LaneRef } {
  const file = newSpanFile()
  const ref = file.maker(0)!
  return { file, lane: openLane(ref), ref }
}

/** Writes a record for each batch, none of them joined. */
function writeBatches(lane: SpanLane, from: number, to: number): void {
  for (let batch = from; batch < to; batch++) {
    lane.of(1).add(SpanKind.Read, batch * 10, 5, { batch })
    lane.flush()
  }
}

const sum = (records: readonly SpanRecord[], of: (record: SpanRecord) => number) =>
  records.reduce((total, record) => total + of(record), 0)

describe('a lane', () => {
  test('is read as it was written, in this process and through the descriptor', () => {
    const { file, lane } = laneOf()
    const start = performance.now()
    lane.of(7).add(SpanKind.Wait, start, 12.5, { batch: 3, rows: 64, firstRow: 8, bytes: 4096 })
    for (const reader of [file.reader, attachSpans(file.path)]) {
      const { records, lost } = reader.readSince()
      expect(lost).toBe(0)
      expect(records).toMatchObject([
        {
          lane: { lane: 0, kind: 'worker', number: 0, name: 'worker 0', open: true, written: 1 },
          kind: 'wait',
          ring: 7,
          start: monotonicMs(start),
          duration: 12.5,
          bytes: 4096,
          batch: 3,
          firstRow: 8,
          rows: 64,
          joined: 1,
          number: 0,
        },
      ])
      expect(reader.pid).toBe(process.pid)
    }
  })

  test('has the clock of time.monotonic', () => {
    const before = monotonicMs()
    const there = Number(execFileSync('python3', ['-c', 'import time; print(time.monotonic() * 1000)']))
    expect(there).toBeGreaterThan(before)
    expect(there).toBeLessThan(monotonicMs())
  })

  test('says what a claim spent on each kind of work, one after the other', () => {
    const { file, lane } = laneOf()
    const clock = new SpanClock()
    clock.begin()
    clock.sums[SpanKind.Read] = 4
    clock.sums[SpanKind.Transform] = 8
    lane.of(1).addClaim(clock, { batch: 2, bytes: 100, rows: 3 })
    const { records } = file.reader.readSince()
    expect(records).toMatchObject([
      { kind: 'read', duration: 4, bytes: 100, batch: 2, rows: 3 },
      { kind: 'transform', duration: 8, bytes: 0, batch: 2, rows: 3 },
    ])
    expect(records[1].start).toBeCloseTo(records[0].start + 4, 6)
    expect(records[1].start + 8).toBeCloseTo(monotonicMs(clock.last), 6)
  })

  test('joins small spans: at most about 1,000 records a second, and no time is lost', () => {
    const { file, lane } = laneOf()
    // A second of work on two rings in turn, in pieces of 0.05 ms.
    const kinds = [SpanKind.Read, SpanKind.Decode, SpanKind.Transform, SpanKind.Close, SpanKind.Wait] as const
    for (let i = 0; i < 20_000; i++)
      lane.of(1 + (i % 2)).add(kinds[i % 5], i * 0.05, 0.05, { rows: 1, batch: i })
    lane.flush()
    const { records } = file.reader.readSince()
    expect(records.length).toBeGreaterThan(100)
    expect(records.length).toBeLessThan(1100)
    expect(sum(records, ({ joined }) => joined)).toBe(20_000)
    expect(sum(records, ({ rows }) => rows)).toBe(20_000)
    expect(sum(records, ({ duration }) => duration)).toBeCloseTo(1000, 5)
    for (const [i, { start, duration }] of records.entries()) {
      // They follow each other, so that a timeline can show them in one row.
      if (i > 0) expect(start).toBeGreaterThan(records[i - 1].start + records[i - 1].duration - 1e-6)
      expect(start + duration).toBeLessThan(monotonicMs(1000) + 1e-6)
    }
  })

  test('joins waits as their steps are joined', () => {
    const file = newSpanFile()
    const lane = openLane(file.maker(0)!)
    for (let batch = 0, now = performance.now(); batch < 60; batch++) {
      lane.of(1).add(SpanKind.Wait, now, 3, { batch, rows: 1 })
      lane.of(1).add(SpanKind.Step, now + 3, 2, { batch, rows: 1 })
      now += 5
    }
    lane.flush()
    const { records } = file.reader.readSince()
    const reported = (kind: string) =>
      records.filter(record => record.kind === kind).map(({ batch, joined }) => [batch, joined])
    expect(reported('wait')).toEqual(reported('step'))
    expect(reported('step').length).toBeLessThan(40)
  })

  test('keeps long spans as they were', () => {
    const { file, lane } = laneOf()
    writeBatches(lane, 0, 3)
    const starts = file.reader.readSince().records.map(({ start }) => start)
    expect(starts).toEqual([0, 10, 20].map(at => monotonicMs(at)))
  })

  test('goes on after the records of the thread before it', () => {
    const { file, lane } = laneOf()
    writeBatches(lane, 0, 3)
    const { cursor } = file.reader.readSince()
    writeBatches(openLane(file.maker(0)!), 3, 5)
    const { records, lost } = file.reader.readSince(cursor)
    expect(records.map(({ batch, number }) => [batch, number])).toEqual([
      [3, 3],
      [4, 4],
    ])
    expect(lost).toBe(0)
  })

  test('tells the CPU time of its thread, now and then', () => {
    const { file, lane } = laneOf()
    const begun = process.cpuUsage()
    while (process.cpuUsage(begun).user < 150_000) lane.of(1).add(SpanKind.Read, performance.now(), 0.01)
    const known = file.reader.readSince().records.filter(({ cpu }) => !Number.isNaN(cpu))
    if (process.platform === 'linux') expect(sum(known, ({ cpu }) => cpu)).toBeGreaterThan(1)
    for (const { delay } of known) expect(delay).toBeGreaterThanOrEqual(0)
  })
})

describe('a reader', () => {
  test('reads on from its cursor', () => {
    const { file, lane } = laneOf()
    writeBatches(lane, 0, 3)
    const first = file.reader.readSince()
    expect(first.records).toHaveLength(3)
    expect(file.reader.readSince(first.cursor)).toEqual({ records: [], cursor: first.cursor, lost: 0 })
    writeBatches(lane, 3, 5)
    // A cursor is plain data.
    const { records } = file.reader.readSince(JSON.parse(JSON.stringify(first.cursor)))
    expect(records.map(({ batch }) => batch)).toEqual([3, 4])
  })

  test('counts what was written over before it came', () => {
    const { file, lane } = laneOf()
    writeBatches(lane, 0, 10)
    const { cursor } = file.reader.readSince()
    writeBatches(lane, 10, RECORDS + 110)
    const { records, lost } = file.reader.readSince(cursor)
    expect(lost).toBe(100)
    expect(records).toHaveLength(RECORDS)
    expect(records.map(({ batch }) => batch)).toEqual(Array.from({ length: RECORDS }, (_, i) => i + 110))
    // One that attaches now has lost nothing that it knew of.
    expect(file.reader.readSince()).toMatchObject({ lost: 0 })
  })

  test('leaves out and counts what is written over while it reads', () => {
    const { lane, ref } = laneOf()
    writeBatches(lane, 0, RECORDS + 10)
    const whole = viewOf(ref.address, RECORDS_AT + RECORDS * RECORD_BYTES)
    let written = RECORDS + 10
    const reader = new SpanReader({
      read: (at, bytes) => {
        // The worker goes on while the records are being read.
        if (at >= RECORDS_AT) writeBatches(lane, written, (written += 3))
        return new Uint8Array(whole.slice(at, at + bytes))
      },
    })
    const { records, lost } = reader.readSince()
    expect(records[0].batch).toBe(13)
    expect(records.at(-1)?.batch).toBe(RECORDS + 9)
    expect(lost).toBe(RECORDS - records.length)
  })

  test.each(Array.from({ length: RECORD_BYTES }, (_, byte) => byte))('sees that byte %i is torn', byte => {
    const { file, lane, ref } = torn
    const at = RECORDS_AT + (byte % 3) * RECORD_BYTES + byte
    const bytes = new Uint8Array(viewOf(ref.address, RECORDS_AT + RECORDS * RECORD_BYTES))
    bytes[at] ^= 0x10
    const { records, lost } = file.reader.readSince()
    bytes[at] ^= 0x10
    expect(lane.pending).toBe(false)
    expect(records.map(({ batch }) => batch)).toEqual([0, 1, 2].filter(batch => batch !== byte % 3))
    expect(lost).toBe(1)
  })
  const torn = laneOf()
  writeBatches(torn.lane, 0, 3)

  test('of one ring sees no record of another', () => {
    const { file, lane } = laneOf()
    for (let i = 0; i < 40; i++) lane.of(1 + (i % 2)).add(SpanKind.Read, i, 1, { batch: i % 2 })
    lane.flush()
    for (const ring of [1, 2]) {
      const { records } = file.reader.readSince(undefined, ring)
      expect(sum(records, ({ joined }) => joined)).toBe(20)
      expect(records.every(record => record.ring === ring && record.batch === ring - 1)).toBe(true)
    }
  })

  test('refuses a head whose sizes are none of spans, and a named pipe, at once', () => {
    const { ref } = laneOf()
    const head = new Uint8Array(viewOf(ref.address, 64))
    for (const at of [HeadAt.Lanes, HeadAt.Rings, HeadAt.LaneBytes, HeadAt.Records]) {
      const damaged = Buffer.from(head)
      damaged.writeUInt32LE(0x7fffffff, at)
      expect(() => new SpanReader({ read: () => damaged })).toThrow('is damaged')
    }
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    expect(() => attachSpans(pipe)).toThrow('holds no spans')
    expect(() => attachSpans(folder)).toThrow('holds no spans')
  })

  test('refuses memory of another kind or version', () => {
    expect(() => new SpanReader({ read: (_, bytes) => new Uint8Array(bytes) })).toThrow('holds no spans')
    const { file } = laneOf()
    const read = (at: number, bytes: number) => {
      const [all] = [new Uint8Array(bytes)]
      all.set(Buffer.from('MILLSPAN').subarray(at))
      all[8] = 9
      return all
    }
    expect(() => new SpanReader({ read }, file.path)).toThrow('spans of version 9')
    expect(() => attachSpans('/proc/self/exe')).toThrow('holds no spans')
    expect(() => attachSpans(2 ** 22 + 1)).toThrow('writes no spans')
  })
})

describe('the tables', () => {
  test('name lanes by kind; one that is given back is used again by the same kind', () => {
    const file = newSpanFile()
    const first = file.take(LaneKind.Consumer, 'trainer')!
    const second = file.take(LaneKind.Consumer, 'trainer')!
    file.take(LaneKind.Device, 'device')
    file.give(first)
    expect(file.reader.lanes().map(({ name, open }) => [name, open])).toEqual([
      ['trainer 0', false],
      ['trainer 1', true],
      ['device 0', true],
    ])
    expect(file.take(LaneKind.Device, 'device')!.lane).not.toBe(first.lane)
    expect(file.take(LaneKind.Consumer, 'trainer')).toEqual(first)
    expect(second.lane).not.toBe(first.lane)
  })

  test('have no lane for more threads than there is room for', () => {
    const file = newSpanFile()
    for (let i = 0; i < 64; i++) expect(file.take(LaneKind.Consumer, 'trainer')).toBeDefined()
    expect(file.take(LaneKind.Consumer, 'trainer')).toBeUndefined()
  })

  test('name rings, the latest 256 of them', () => {
    const file = newSpanFile()
    for (let id = 1; id <= 300; id++) file.openRing({ id, name: `feed ${id} ä`, rank: id % 4, world: 4 })
    file.closeRing(299)
    file.closeRing(1)
    const rings = file.reader.rings()
    expect(rings).toHaveLength(256)
    expect(rings[0]).toMatchObject({ ring: 45, name: 'feed 45 ä', rank: 1, world: 4, open: true })
    expect(rings.at(-1)).toMatchObject({ ring: 300, engine: process.pid, engineRing: 300 })
    expect(rings.filter(({ open }) => !open).map(({ ring }) => ring)).toEqual([299])
    file.openRing({ id: 301, name: 'é'.repeat(100), rank: 0, world: 1 })
    expect(file.reader.rings().at(-1)?.name).toBe('é'.repeat(58))
  })

  test('keep the name of a ring that stays open while others come and go', () => {
    const file = newSpanFile()
    file.openRing({ id: 1, name: 'training', rank: 0, world: 1 })
    let id = 1
    for (let i = 0; i < 600; i++) {
      id = file.freeRing(id + 1)
      file.openRing({ id, name: 'validation', rank: 0, world: 1 })
      file.closeRing(id)
    }
    expect(file.reader.rings().filter(ring => ring.open)).toMatchObject([{ ring: 1, name: 'training' }])
    for (let i = 0; i < 600; i++) {
      id = file.freeRing(id + 1)
      file.openRing({ id, name: 'open', rank: 0, world: 1 })
    }
    expect(file.reader.rings()).toHaveLength(256)
  })

  test('leave out a ring that is half written', () => {
    const file = newSpanFile()
    const { address } = file.maker(0)!
    for (const id of [1, 2]) file.openRing({ id, name: 'feed', rank: 0, world: 1 })
    new Uint32Array(viewOf(address, RECORDS_AT), RINGS_AT + RING_BYTES + RingAt.Again, 1)[0] = 0
    expect(file.reader.rings().map(({ ring }) => ring)).toEqual([1])
  })

  test('fit before the records', () => {
    expect(LANES_AT + 320 * LANE_BYTES).toBe(RINGS_AT)
    expect(RINGS_AT + 256 * RING_BYTES).toBeLessThanOrEqual(COUNTERS_AT)
    expect(2 * (OWN_BYTES + SUMS * SUM_BYTES)).toBeLessThanOrEqual(COUNTER_BYTES)
    expect(COUNTERS_AT + 320 * COUNTER_BYTES).toBe(RECORDS_AT)
    expect(SumAt.Ms + 8 * (SPAN_NAMES.length - 1)).toBeLessThanOrEqual(SumAt.Bytes)
  })
})

test.skipIf(process.platform !== 'linux')('other processes can only read', () => {
  const { file, lane } = laneOf()
  const script = `
    import mmap, os, sys
    fd = os.open(sys.argv[1], os.O_RDWR)
    def refused(call):
        try: call()
        except OSError as error: return error.errno
    print([refused(lambda: os.pwrite(fd, b"x", 0)), refused(lambda: mmap.mmap(fd, 65536)),
           refused(lambda: os.ftruncate(fd, 0)), os.pread(fd, 8, 0)])`
  const code = script.replaceAll('\n    ', '\n')
  expect(execFileSync('python3', ['-c', code, file.path], { encoding: 'utf8' }).trim()).toBe(
    "[1, 1, 1, b'MILLSPAN']",
  )
  writeBatches(lane, 0, 1)
  expect(file.reader.readSince().records).toHaveLength(1)
})
