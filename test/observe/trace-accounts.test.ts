/** Where the time of steps went, out of traces: ours, DFTracer's of other programs, torch.profiler's. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Parts } from '../../src/observe/evidence.js'
import type { TraceEvent } from '../../src/observe/trace/events.js'
import { TraceFile } from '../../src/observe/trace/file.js'
import { summarise } from '../../src/observe/trace/read/summary.js'
import { temporaryFolder } from '../support/folder.js'

const folder = temporaryFolder()
let files = 0
const place = (ending: string) => join(folder, `${files++}${ending}`)

const STEPS = 150
const clock = { base: 5000, realtime: 1_700_000_000_000 }

/**
 * Steps of 20 ms: 8 of waiting, 2 of taking the batch, 10 of training. A worker of another process reads for 6 ms, of which it
 * runs 2 and waits 1 for a core, transforms for 6, and has no slot for 8.
 */
function events(): TraceEvent[] {
  const out: TraceEvent[] = []
  const track = (pid: number, process: string, tid: number, thread: string) =>
    out.push({ type: 'track', track: { pid, tid, process, thread, order: tid } })
  track(7, 'python train.py (7)', 1, 'trainer 0')
  track(8, 'node engine (8)', 2, 'worker 0')
  track(8, 'node engine (8)', 3, 'worker 0 (2)')
  const facts = { workers: 1, depth: 4, claims: 1, rows: 8, slotBytes: 64, stepsInEpoch: 1000, cores: 16 }
  const mark = { type: 'instant', cat: 'pipeline', name: 'feed', at: 0 } as const
  out.push({ ...mark, pid: 8, tid: 2, args: { feed: 'cats', ...facts } })
  const slice = (who: [number, number], word: string, from: number, ms: number, args: object) => {
    const [cat, name] = word.split('/')
    const [pid, tid] = who
    out.push({
      ...{ type: 'slice', pid, tid, cat, name, level: 0, args: { feed: 'cats', ...args } },
      ...{ start: Math.round(from * 8000), end: Math.round((from + ms) * 8000) },
    } as TraceEvent)
  }
  for (let batch = 0; batch < STEPS; batch++) {
    const at = 1 + 20 * batch
    const about = { batch, rows: 8 }
    slice([8, 2], 'data/io.read', at, 6, { ...about, bytes: 800, cpuMs: 8, delayMs: 1 })
    slice([8, batch % 2 ? 2 : 3], 'data/preprocess.transform', at + 6, 6, about)
    slice([8, 2], 'data/wait.slot', at + 12, 8, {})
    slice([7, 1], 'dataloader/fetch', at, 10, about)
    slice([7, 1], 'dataloader/fetch.wait', at, 8, about)
    slice([7, 1], 'dataloader/fetch.hand', at + 8, 2, about)
    slice([7, 1], 'compute/step', at + 10, 10, { ...about, firstRow: batch + 1 })
  }
  return out
}

/** Written in pieces; `end` false: the recorder was killed. */
function trace(ending: string, end = true): string {
  const path = place(ending)
  const file = new TraceFile(path, clock)
  const all = events()
  for (let i = 0; i < all.length; i += 50) file.write(all.slice(i, i + 50))
  const before = readFileSync(path)
  file.close()
  if (!end) writeFileSync(path, before)
  return path
}

function lines(list: readonly object[], ending = '.pfw'): string {
  const path = place(ending)
  writeFileSync(path, list.map(line => JSON.stringify(line)).join('\n'))
  return path
}

const sumOf = (parts: Parts) => Object.values(parts).reduce((sum, part) => sum + part, 0)

describe('the accounting of a trace', () => {
  it.each(['.json', '.json.gz', '.pfw', '.pfw.gz'])(
    'divides a step by what its workers did (%s)',
    async ending => {
      for (const end of [true, false]) {
        const { accounts, cut } = await summarise(trace(ending, end))
        expect([accounts.length, cut]).toEqual([1, !end])
        const [{ parts, ...one }] = accounts
        expect(one).toMatchObject({ pid: 7, thread: 'trainer 0', feed: 'cats', dividedBy: 'cpu' })
        expect(one.steps).toBe(STEPS - 1) // the first is for the start
        expect([one.stepMs, one.idealMs, one.lost].map(round)).toEqual([20, 10, 0.5])
        expect(sumOf(parts)).toBeCloseTo(1, 9)
        expect([parts.ideal, parts.slowed, parts.handOver, parts.transfer].map(round)).toEqual([
          0.5, 0, 0.1, 0,
        ])
        // Of 12 ms of work 8 ran, 1 was queued and 3 were blocked, in waits of 8 ms of 20.
        const supply = [parts.running, parts.queued, parts.blocked, parts.noSlot]
        expect(supply.map(share => Math.round(share * 100))).toEqual([27, 3, 10, 0])
        expect(one.why).toMatch(/^Your trainer loses 50 %: /)
        expect(one.unknown.join()).toMatch(/diagnose --attach PID --control.*the machine was not looked at/)
      }
    },
  )

  it('names the first cause: workers that always run, with cores to spare', async () => {
    const path = place('.json')
    const file = new TraceFile(path, clock)
    const busy = events().flatMap((event): TraceEvent[] => {
      if (event.type !== 'slice') return [event]
      if (event.name === 'wait.slot') return []
      // All of the 20 ms: reading 1, transforming 19, all of it on a core.
      if (event.name === 'io.read')
        return [{ ...event, end: event.start + 8000, args: { ...event.args, cpuMs: 20, delayMs: 0 } }]
      if (event.name === 'preprocess.transform')
        return [{ ...event, tid: 2, start: event.start - 40_000, end: event.start + 112_000 }]
      return [event]
    })
    file.write(busy)
    file.close()
    const [one] = (await summarise(path)).accounts
    expect([one.verdict, Math.round(100 * one.parts.running)]).toEqual(['under-parallel', 40])
    expect(one.why).toBe("Your trainer loses 50 %: 1 worker can't transform fast enough, and cores are free.")
  })

  it('says that workers waited for cores, not who had them', async () => {
    const path = place('.json')
    const file = new TraceFile(path, clock)
    const queued = events().flatMap((event): TraceEvent[] => {
      if (event.type === 'instant') return [{ ...event, args: { ...event.args, cores: 1 } }]
      if (event.type !== 'slice' || event.name !== 'io.read') return [event]
      return [{ ...event, args: { ...event.args, cpuMs: 4, delayMs: 8 } }]
    })
    file.write(queued)
    file.close()
    const [one] = (await summarise(path)).accounts
    expect([one.verdict, one.why]).toEqual(['queued', 'Your trainer loses 50 %: workers wait for cores.'])
  })

  it('tells feeds of one name apart by their rings, also of a trainer beside the engine', async () => {
    const path = place('.json')
    const file = new TraceFile(path, clock)
    const all = events().map((event): TraceEvent => {
      if (event.type !== 'slice' && event.type !== 'instant') return event
      const second = event.type === 'slice' && event.start >= 8000 * (1 + 20 * 100)
      return {
        ...event,
        args: { ...event.args, ring: second ? 2 : 1, ...(event.pid === 7 && { engine: 8 }) },
      } as TraceEvent
    })
    file.write(all)
    file.close()
    const { accounts } = await summarise(path)
    expect(accounts.map(({ feed, ring, steps, dividedBy }) => [feed, ring, steps, dividedBy])).toEqual([
      ['cats', 1, 99, 'cpu'],
      ['cats', 2, 50, 'cpu'],
    ])
  })

  it('finds the work of the calling thread, where there are no workers', async () => {
    const path = place('.json')
    const file = new TraceFile(path, clock)
    file.write(
      events().map((event): TraceEvent => {
        if (event.type === 'instant') return { ...event, args: { ...event.args, workers: 0, depth: 1 } }
        if (event.type !== 'track' || event.track.thread.startsWith('trainer')) return event
        return { ...event, track: { ...event.track, thread: event.track.thread.replace('worker', 'caller') } }
      }),
    )
    file.close()
    const [one] = (await summarise(path)).accounts
    expect([one.dividedBy, one.verdict === null]).toEqual(['cpu', false])
    expect(one.why).not.toContain('not in the trace')
  })

  it('says what it can of DFTracer’s traces of other programs', async () => {
    const list: object[] = []
    for (let i = 0; i < STEPS; i++) {
      const ts = 1_700_000_000_000_000 + i * 20_000
      const slice = (pid: number, cat: string, name: string, from: number, dur: number) =>
        list.push({ ph: 'X', pid, tid: pid, cat, name, ts: ts + from, dur, args: { level: 1 } })
      slice(3, 'dataloader', 'fetch', 0, 8000)
      slice(3, 'device', 'transfer', 8000, 2000)
      slice(3, 'compute', 'forward', 10_000, 9000)
      slice(4, 'data', 'item', 0, 16_000)
      slice(4, 'data', 'preprocess', 10_000, 4000) // within the item
      slice(4, 'POSIX', 'open64', 0, 1000)
      slice(4, 'POSIX', 'read', 1000, 7000)
    }
    const [one, ...more] = (await summarise(lines(list))).accounts
    expect(more).toEqual([])
    expect(one).toMatchObject({ pid: 3, feed: null, thread: null, dividedBy: 'kinds', steps: STEPS - 2 })
    expect([one.stepMs, one.lost].map(round)).toEqual([20, 0.5])
    expect([one.parts.ideal, one.parts.transfer].map(round)).toEqual([0.5, 0.1])
    expect(sumOf(one.parts)).toBeCloseTo(1, 9)
    // Of 16 ms of work, opening and reading were 8.
    expect([one.parts.blocked, one.parts.running].map(round)).toEqual([0.2, 0.2])
    expect(one.unknown.join()).toMatch(/CPU time.*when a batch was complete/)
  })

  it('names no cause where no worker is seen', async () => {
    const name = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__'
    const list = Array.from({ length: STEPS }, (_, i) => {
      return { ph: 'X', cat: 'user_annotation', name, pid: 1, tid: 1, ts: i * 10_000, dur: 2000 }
    })
    const path = place('.json')
    writeFileSync(path, JSON.stringify({ traceEvents: list }))
    const [one] = (await summarise(path)).accounts
    expect([one.verdict, one.dividedBy, round(one.lost)]).toEqual([null, 'none', 0.2])
    expect(one.why).toContain('loses 20 %, at least; what it waited for is not in the trace')
    expect(one.unknown[0]).toContain('shows no worker')
  })

  it('has none of a trace without waits, and survives times beyond all measure', async () => {
    const read = { ph: 'X', cat: 'POSIX', name: 'read', pid: 4, tid: 4 }
    expect((await summarise(lines([{ ...read, ts: 1, dur: 5 }]))).accounts).toEqual([])
    const fetch = { ph: 'X', cat: 'dataloader', name: 'fetch', pid: 3, tid: 3 }
    const odd = [-1e308, -1, 0, 1e-300, 1, 1e9, 1e300].flatMap(ts =>
      [0, 1e-300, 1, 1e15, 1e308].flatMap(dur => [
        { ...fetch, ts, dur },
        { ...read, ts, dur },
      ]),
    )
    for (const { parts } of (await summarise(lines(odd))).accounts)
      expect(Number.isNaN(sumOf(parts)) ? 'NaN' : Math.round(sumOf(parts))).toBe(1)
  })
})

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
