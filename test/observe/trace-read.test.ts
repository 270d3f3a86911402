/** Traces read back: ours, DFTracer's, torch.profiler's; whole, cut short, damaged. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { TraceEvent } from '../../src/observe/trace/events.js'
import { TraceFile } from '../../src/observe/trace/file.js'
import { convertTrace } from '../../src/observe/trace/read/convert.js'
import type { ReadEvent } from '../../src/observe/trace/read/events.js'
import { isTrace, readTrace } from '../../src/observe/trace/read/file.js'
import { summarise } from '../../src/observe/trace/read/summary.js'
import { temporaryFolder } from '../support/folder.js'
import { checkTrace } from './trace-check.js'

const folder = temporaryFolder()
let files = 0
const place = (ending: string) => join(folder, `${files++}${ending}`)

function written(content: string | Uint8Array, ending = '.json'): string {
  const path = place(ending)
  writeFileSync(path, content)
  return path
}

/** A trainer that waits 5 ms and computes 10, 20 times, and a worker that reads meanwhile. */
function events(): TraceEvent[] {
  const out: TraceEvent[] = []
  const tracks = ['trainer 0', 'worker 0']
  for (const [i, thread] of tracks.entries())
    out.push({
      type: 'track',
      track: { pid: 7, tid: i + 1, process: 'python train.py (7)', thread, order: i },
    })
  const slice = (tid: number, cat: string, name: string, ms: number, dur: number, level: number, args = {}) =>
    out.push({
      ...{ type: 'slice', pid: 7, tid, cat, name, level, args: { feed: 'cats', ...args } },
      ...{ start: ms * 8000, end: (ms + dur) * 8000 },
    } as TraceEvent)
  for (let i = 0; i < 20; i++) {
    slice(2, 'data', 'item', i * 15, 5, 0, { batch: i })
    slice(2, 'data', 'io.read', i * 15, 4, 1, { batch: i, bytes: 1000 })
    slice(1, 'dataloader', 'fetch', i * 15, i === 3 ? 5.5 : 5, 0, { batch: i })
    slice(1, 'compute', 'step', i * 15 + 5.5, 9, 0, { batch: i })
    out.push({ type: 'flow', at: 'start', id: i, pid: 7, tid: 2, ts: i * 120_000 + 8 })
    out.push({ type: 'flow', at: 'end', id: i, pid: 7, tid: 1, ts: i * 120_000 + 48_000 })
    out.push({ type: 'counter', pid: 7, name: 'memory', at: i * 120_000, values: { bytes: i } })
  }
  return out
}

/** Written in pieces, as a recorder does; `end` false: it was killed. */
function trace(ending: string, end = true): string {
  const path = place(ending)
  const file = new TraceFile(path, { base: 5000, realtime: 1_700_000_000_000 })
  const all = events()
  for (let i = 0; i < all.length; i += 30) file.write(all.slice(i, i + 30))
  const before = readFileSync(path)
  file.close()
  if (!end) writeFileSync(path, before)
  return path
}

const ENDINGS = ['.json', '.json.gz', '.pfw', '.pfw.gz']

describe('trace show', () => {
  it.each(ENDINGS)('reads %s back', async ending => {
    const { tracks, waits, longest, steps, seconds, bytesRead, cut, bad } = await summarise(trace(ending))
    expect([steps, bytesRead, cut, bad, seconds]).toEqual([20, 20_000, false, 0, 0.2995])
    expect(tracks.map(({ thread, ms }) => [thread, ms])).toEqual([
      ['trainer 0', { 'compute/step': 180, 'dataloader/fetch': 100.5 }],
      ['worker 0', { 'data/item': 100, 'data/io.read': 80 }],
    ])
    expect(tracks[0].process).toBe('python train.py (7)')
    expect(waits).toEqual({ count: 20, totalMs: 100.5, p50: 5, p95: 5.5, p99: 5.5, max: 5.5, from: 'each' })
    expect(longest[0]).toEqual({ atMs: 45, ms: 5.5, joined: 1, batch: 3, meanwhile: { 'data/io.read': 4 } })
  })

  it.each(ENDINGS)('reads %s of a recorder that was killed, and says so', async ending => {
    const summary = await summarise(trace(ending, false))
    expect(summary).toMatchObject({ cut: true, bad: 0, steps: 20 })
    expect(summary.damage).toBeUndefined()
  })

  it('reads what is there of a file that was cut anywhere', async () => {
    for (const ending of ENDINGS) {
      const whole = readFileSync(trace(ending))
      let last = 0
      for (const share of [0.4, 0.6, 0.8, 0.97]) {
        const { events, cut } = await readTrace(
          written(whole.subarray(0, whole.length * share), ending),
          () => {},
        )
        expect(cut).toBe(true)
        expect(events).toBeGreaterThanOrEqual(last)
        last = events
      }
      expect(last).toBeGreaterThan(20)
    }
  })

  it('reads up to where a file is damaged, and says so', async () => {
    const path = place('.json.gz')
    const file = new TraceFile(path, { base: 5000, realtime: 1_700_000_000_000 })
    for (let i = 0; i < 100; i++) file.write(events())
    file.close()
    const broken = readFileSync(path)
    const at = Math.floor(broken.length * 0.7)
    broken.fill(0x55, at, at + 2000)
    const summary = await summarise(written(broken, '.json.gz'))
    expect(summary).toMatchObject({ cut: true, damage: expect.stringContaining('compression is damaged') })
    expect(summary.steps).toBeGreaterThan(500)
  })

  it('reads lines of DFTracer 2, old ones with numbers as texts, and torch.profiler’s', async () => {
    const second = [
      { ph: 4, name: 'PR', pid: 3, tid: 3, args: { name: 'train' } },
      { ph: 1, type: 6, name: 'fetch', cat: 'dataloader', pid: 3, tid: 3, ts: 1000, dur: 500, args: {} },
      { ph: 3, name: 'read', cat: 'POSIX', pid: 3, tid: 4, ts: 1000, args: { dft_cnt: 9, dur_sum: 400 } },
      { ph: 2, name: 'cpu', cat: 'sys', pid: 3, tid: 3, ts: 1000, args: { user: 12.5 } },
    ]
    const lines = await summarise(written(second.map(line => JSON.stringify(line)).join('\n'), '.pfw'))
    expect(lines).toMatchObject({ bad: 0, cut: false, waits: { count: 1, max: 0.5 } })
    expect(lines.longest[0].meanwhile).toEqual({ 'POSIX/read': 0.4 })
    const old = `[\n{"id":"0","name":"fetch","cat":"dataloader","pid":"3","tid":"3","ts":"5","dur":"1500","ph":"X"}\n`
    expect(await summarise(written(old, '.pfw'))).toMatchObject({ waits: { max: 1.5 }, cut: true })
    const name = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__'
    const torch = {
      schemaVersion: 1,
      deviceProperties: [{ id: 0, name: 'H200', nested: { traceEvents: 1 } }],
      traceEvents: [
        { ph: 'M', name: 'process_name', pid: 1, tid: 0, ts: 1, args: { name: 'python' } },
        { ph: 'X', cat: 'user_annotation', name, pid: 1, tid: 1, ts: 10, dur: 2000 },
        { ph: 'B', name: 'outer', pid: 1, tid: 2, ts: 10 },
        { ph: 'E', pid: 1, tid: 2, ts: 20 },
        { ph: 'B', name: 'never ends', pid: 1, tid: 2, ts: 30 },
        { ph: 'N', name: 'object', pid: 1, tid: 2, ts: 30 },
        { ph: 'i', name: 'here {"}', pid: 'Traces', tid: 'x', ts: 40, s: 'g' },
      ],
      traceName: 'a "name" with { and [',
    }
    const summary = await summarise(written(JSON.stringify(torch, null, 2)))
    expect(summary).toMatchObject({
      waits: { count: 1, max: 2 },
      unfinished: 1,
      other: 1,
      bad: 0,
      cut: false,
    })
    expect(summary.tracks[1].ms).toEqual({ outer: 0.01 })
  })

  it('loses nothing to bytes behind the end of a compressed file', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({
      ph: 'X',
      pid: 1,
      tid: 1,
      ts: i,
      dur: 1,
      name: `${i}`,
    }))
    const packed = gzipSync(JSON.stringify(many))
    const path = written(Buffer.concat([packed, Buffer.from('garbage'.repeat(100))]), '.json.gz')
    const seen: ReadEvent[] = []
    const { damage } = await readTrace(path, event => seen.push(event))
    expect([seen.length, damage]).toEqual([5000, expect.stringContaining('compression is damaged')])
    expect(seen.map(event => (event as { name: string }).name)).toEqual(many.map(({ name }) => name))
  })

  it('says that a file has only events of kinds that are not shown', async () => {
    const event = { ph: 'b', id: 1, pid: 1, tid: 1, ts: 1, name: 'async' }
    expect(await summarise(written(JSON.stringify([event])))).toMatchObject({ events: 0, other: 1, bad: 0 })
  })

  it('says how many records are missing, and that a trace ended at its limit', async () => {
    for (const ending of ENDINGS) {
      const path = place(ending)
      const file = new TraceFile(path, { base: 5000, realtime: 1_700_000_000_000 }, 70_000)
      file.lost = 7
      file.write(events())
      // A recorder that is killed has told of them.
      expect(await summarise(written(readFileSync(path), ending))).toMatchObject({ lost: 7, full: false })
      for (let i = 0; i < 200 && !file.full; i++) file.write(events())
      file.lost = 123_456_789
      file.close()
      expect(readFileSync(path).length).toBeLessThanOrEqual(70_000)
      expect(await summarise(path)).toMatchObject({ lost: 123_456_789, full: true, cut: false, bad: 0 })
    }
  })

  it('tells traces from other files', async () => {
    for (const ending of ENDINGS) {
      expect(await isTrace(trace(ending))).toBe(true)
      expect(await isTrace(trace(ending, false))).toBe(true)
    }
    for (const nothing of ['', '[\n', '[]', gzipSync('[\n')])
      expect(await isTrace(written(nothing))).toBe(true)
    for (const other of [
      '{"source":{"folder":"a"},"batch":8}',
      '[1,2,3]',
      '[{"a":1}]',
      'hello',
      gzipSync('x'),
    ])
      expect(await isTrace(written(other))).toBe(false)
  })

  it('refuses folders, pipes and devices in words', async () => {
    const pipe = place('.json')
    execFileSync('mkfifo', [pipe])
    for (const path of [folder, pipe, '/dev/null'])
      await expect(summarise(path)).rejects.toThrow(
        expect.objectContaining({ tag: 'Millrace', message: expect.stringContaining('not a regular file') }),
      )
  })

  it('refuses what is no trace', async () => {
    for (const content of ['', 'hello', '[]', '{}', '[[[', gzipSync('nothing')])
      await expect(readTrace(written(content), () => {})).rejects.toThrow('holds no events of a trace')
  })

  it('survives nesting and numbers beyond all measure', async () => {
    const deep = '['.repeat(50_000)
    const first = '{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"}'
    const odd = [
      `{"ph":"X","pid":1,"tid":1,"ts":1e999,"dur":1,"name":"b"}`,
      `{"ph":"X","pid":1,"tid":1,"ts":1,"dur":-5,"name":"c"}`,
      `{"ph":"X","pid":1e308,"tid":-1e308,"ts":-1e308,"dur":1e308,"name":"d"}`,
      `{"ph":"E","pid":1,"tid":1,"ts":1}`,
      '{"ph":7}',
      '{"ph":"X","name":{"a":[1]},"ts":2,"args":[1,2]}',
      `{"args":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`,
    ]
    const { bad } = await summarise(written(`[${first},${odd.join(',')},${deep}`))
    expect(bad).toBeGreaterThanOrEqual(4)
  })

  it('survives any bytes', async () => {
    let state = 1
    const random = () => (state = (state * 48271) % 0x7fffffff)
    const wholes = ENDINGS.map(ending => readFileSync(trace(ending)))
    for (let i = 0; i < 120; i++) {
      const bytes = Buffer.from(wholes[i % wholes.length])
      for (let n = 0; n < 1 + (i % 40); n++) bytes[random() % bytes.length] = random()
      const path = written(bytes)
      const seen: ReadEvent[] = []
      const outcome = await readTrace(path, event => seen.push(event)).catch((error: Error) => error)
      if (outcome instanceof Error) expect(outcome.message).toContain('holds no events')
      else {
        expect(outcome.events).toBe(seen.length)
        await summarise(path)
      }
    }
  })
})

describe('a trace with a limit', () => {
  it.each(ENDINGS)('is never larger (%s), has its end, and whole arrows', async ending => {
    const path = place(ending)
    const limit = 70_000
    const file = new TraceFile(path, { base: 5000, realtime: 1_700_000_000_000 }, limit)
    for (let i = 0; i < 200 && !file.full; i++) file.write(events())
    expect(file.full).toBe(true)
    const before = file.bytes
    file.write(events())
    expect(file.bytes).toBe(before)
    file.close()
    const { length } = readFileSync(path)
    expect([length, length <= limit, length > limit / 2]).toEqual([file.bytes, true, true])
    const { cut, bad } = await readTrace(path, () => {})
    expect([cut, bad]).toEqual([false, 0])
  })

  it('leaves no arrow without its end', () => {
    const arrows: TraceEvent[] = []
    for (let id = 1; id < 2000; id++) {
      const at = { type: 'flow', id, pid: 7, tid: 1 } as const
      for (const [i, part] of (['start', 'step', 'end'] as const).entries())
        arrows.push({ ...at, at: part, ts: id * 80 + i * 8 })
    }
    for (const limit of [20_000, 20_100, 20_200, 20_300]) {
      const path = place('.json')
      const file = new TraceFile(path, { base: 0, realtime: 0 }, limit)
      file.write(arrows)
      file.close()
      const phases = JSON.parse(readFileSync(path, 'utf8')).map(({ ph }: { ph: string }) => ph)
      expect(phases.slice(1).join('')).toMatch(/^(stf)+M$/) // the last says that it ended at the limit
    }
  })
})

describe('trace convert', () => {
  it('goes to DFTracer’s lines and back', async () => {
    const lines = place('.pfw.gz')
    await convertTrace(trace('.json.gz'), lines)
    const back = place('.json')
    expect(await convertTrace(lines, back)).toMatchObject({ bad: 0, cut: false })
    const [before, after] = [await summarise(trace('.json')), await summarise(back)]
    expect(after.tracks).toEqual(before.tracks)
    expect(checkTrace(readFileSync(back)).slices).toHaveLength(80)
  })

  it('writes lines as DFTracer does', () => {
    const [bracket, ...lines] = readFileSync(trace('.pfw'), 'utf8').trimEnd().split('\n')
    expect([bracket, lines.pop()]).toEqual(['[', ']'])
    const parsed = lines.map(line => JSON.parse(line))
    expect(parsed.map(({ id }) => id)).toEqual(parsed.map((_, i) => i))
    const hosts = parsed.filter(({ name }) => name === 'HH')
    const feeds = parsed.filter(({ name }) => name === 'FH')
    expect([hosts.length, feeds.length]).toEqual([1, 1])
    const slices = parsed.filter(({ ph }) => ph === 'X')
    for (const { ts, dur, args } of slices) {
      expect(Number.isInteger(ts) && Number.isInteger(dur) && ts >= 1.7e15).toBe(true)
      expect([args.hhash, args.fhash]).toEqual([hosts[0].args.value, feeds[0].args.value])
      if (args.level === 1) expect(args.p_idx).toBe(-1)
      else expect(parsed[args.p_idx]).toMatchObject({ name: 'item', args: { batch: args.batch } })
    }
    expect(slices.filter(({ args }) => args.level === 2)).toHaveLength(20)
  })
})
