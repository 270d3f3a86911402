/** Traces converted: names, clocks, metadata of others, and what must not be lost on the way. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TraceEvent } from '../../src/observe/trace/events.js'
import { TraceFile } from '../../src/observe/trace/file.js'
import { convertTrace } from '../../src/observe/trace/read/convert.js'
import type { ReadEvent } from '../../src/observe/trace/read/events.js'
import { readTrace } from '../../src/observe/trace/read/file.js'
import { summarise } from '../../src/observe/trace/read/summary.js'
import { temporaryFolder } from '../support/folder.js'

const folder = temporaryFolder()
let files = 0
const place = (ending: string) => join(folder, `${files++}${ending}`)

function written(content: string, ending = '.json'): string {
  const path = place(ending)
  writeFileSync(path, content)
  return path
}

async function eventsOf(path: string): Promise<ReadEvent[]> {
  const found: ReadEvent[] = []
  await readTrace(path, event => found.push(event))
  return found
}

const X = { ph: 'X', pid: 1, tid: 1, ts: 10, dur: 5 }

describe('trace convert', () => {
  it('writes JSON of any names and figures', async () => {
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\0', '\u2028', '\ud800'), fc.string()),
    })
    const figure = fc.oneof(fc.integer(), fc.double())
    const event = fc.record({
      ph: fc.constantFrom('X', 'i', 'C', 's', 't', 'f', 'B', 'E'),
      ...{ pid: figure, tid: figure, cat: text, name: text, ts: figure, dur: figure, id: figure },
      args: fc.dictionary(text, fc.oneof(text, figure)),
    })
    const mark = { ph: 'M', pid: 1, tid: 1 }
    await fc.assert(
      fc.asyncProperty(fc.array(event), text, async (events, name) => {
        const names = ['process_name', 'thread_name'].map(kind => ({ ...mark, name: kind, args: { name } }))
        const from = written(JSON.stringify([{ ...X, cat: name, name }, ...names, ...events]))
        const [json, lines] = [place('.json'), place('.pfw')]
        await convertTrace(from, json)
        await convertTrace(from, lines)
        const parsed = JSON.parse(readFileSync(json, 'utf8')) as { ph: string; ts: number; name: string }[]
        for (const { ph, ts } of parsed) if (ph !== 'M') expect(Number.isFinite(ts)).toBe(true)
        expect(parsed.some(one => one.ph === 'X' && one.name === name)).toBe(true)
        for (const line of readFileSync(lines, 'utf8').trimEnd().split('\n').slice(1, -1)) JSON.parse(line)
      }),
      { numRuns: 150 },
    )
  }, 60_000)

  it('gives OUT its name when it is whole: what fails leaves the old one, and nothing else', async () => {
    const out = written('[]')
    const before = readdirSync(folder).length
    await expect(convertTrace(written('hello'), out)).rejects.toThrow('holds no events')
    expect(readFileSync(out, 'utf8')).toBe('[]')
    expect(readdirSync(folder).filter(name => name.startsWith('.'))).toEqual([])
    expect(readdirSync(folder).length).toBe(before + 1)
  })

  it('tells the size of the whole file', async () => {
    for (const ending of ['.json', '.json.gz', '.pfw', '.pfw.gz']) {
      const out = place(ending)
      const { bytes } = await convertTrace(written(JSON.stringify([{ ...X, name: 'a' }])), out)
      expect(bytes).toBe(readFileSync(out).length)
    }
  })

  it('keeps the time at which a trace of torch.profiler was made', async () => {
    const events = [{ ...X, name: 'a', cat: 'cpu_op', ts: 1500.5 }]
    const torch = [
      JSON.stringify({ baseTimeNanoseconds: 1_700_000_000_000_000_000, traceEvents: events }),
      JSON.stringify({ traceEvents: events, baseTimeNanoseconds: 1_700_000_000_000_000_000 }, null, 2),
    ]
    for (const text of torch) {
      const out = place('.pfw')
      await convertTrace(written(text), out)
      const [slice] = (await eventsOf(out)).filter(({ type }) => type === 'slice')
      expect(slice).toMatchObject({ ts: 1_700_000_000_001_500 })
    }
    const nested = { traceEvents: [{ ...events[0], args: { baseTimeNanoseconds: 5 } }] }
    const found = await eventsOf(written(JSON.stringify(nested)))
    expect(found.filter(({ type }) => type === 'clock')).toEqual([])
  })

  it('keeps what a trace says of missing records', async () => {
    const from = place('.json')
    const file = new TraceFile(from, { base: 0, realtime: 0 })
    file.write([{ type: 'counter', pid: 1, name: 'a', at: 1, values: { b: 1 } }])
    file.lost = 12
    file.close()
    for (const ending of ['.json', '.pfw']) {
      const out = place(ending)
      await convertTrace(from, out)
      expect(await summarise(out)).toMatchObject({ lost: 12, full: false, bad: 0 })
    }
  })
})

describe('lines of DFTracer', () => {
  it('name a process by process_name alone', async () => {
    const about = { name: 'PR', cat: 'dftracer', pid: 3, tid: 3, ph: 'M' }
    const lines = [
      { ...about, args: { hhash: 'a', name: 'process_name', value: 'train.py' } },
      { ...about, args: { hhash: 'a', name: 'core_affinity', value: '0-7' } },
      { ...about, pid: 4, args: { hhash: 'a', name: 'core_affinity', value: '0-7' } },
      { ...about, pid: 5, args: { hhash: 1, name: 'python old.py (5)', value: 'python old.py (5)' } },
      ...[3, 4, 5].map(pid => ({ ...X, pid, name: 'read', cat: 'POSIX' })),
    ]
    const path = written(`[\n${lines.map(line => JSON.stringify(line)).join('\n')}\n]\n`, '.pfw')
    const { tracks } = await summarise(path)
    expect(tracks.map(({ process }) => process)).toEqual(['train.py', 'process 4', 'python old.py (5)'])
  })

  it('of ours have the name of a process as a value, and counters have no hashes', async () => {
    const events: TraceEvent[] = [
      { type: 'track', track: { pid: 7, tid: 1, process: 'python a.py', thread: 'trainer 0', order: 1 } },
      { type: 'counter', pid: 7, name: 'memory', at: 8, values: { bytes: 5 } },
    ]
    const path = place('.pfw')
    const file = new TraceFile(path, { base: 0, realtime: 1_700_000_000_000 })
    file.write(events)
    file.close()
    const lines = readFileSync(path, 'utf8').split('\n')
    const [line] = lines.filter(one => one.includes('"PR"')).map(one => JSON.parse(one))
    expect(line.args).toMatchObject({ name: 'process_name', value: 'python a.py' })
    const out = place('.json')
    await convertTrace(path, out)
    const [counter] = (await eventsOf(out)).filter(({ type }) => type === 'counter')
    expect(counter).toMatchObject({ name: 'memory', values: { bytes: 5 } })
    expect(Object.keys((counter as { values: object }).values)).toEqual(['bytes'])
  })
})
