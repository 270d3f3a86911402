/** Spans of another process: seen while it works, and after it was killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { numberFeed } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { programs } from '../../../../test/support/program.js'
import { Client, serve } from '../../../../test/support/protocol-client.js'
import { until } from '../../../../test/support/until.js'
import { PROTOCOL } from '../../deliver/protocol-facts.js'
import { attachSpans, spanWriters } from '../../spans/attach.js'
import type { SpanCursor, SpanRecord } from '../../spans/reader.js'
import { RECORDS } from '../../spans/span-words.js'

const folder = temporaryFolder()
const build = (path: string) =>
  JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../../../build/core', path)).href)

/** A program that writes records as fast as it can, so many, each of which can be checked. */
const writer = join(folder, 'writer.mjs')
writeFileSync(
  writer,
  `import { newSpanFile, openLane } from ${build('spans/file.js')}
  const file = newSpanFile()
  const lanes = [openLane(file.maker(0)), openLane(file.maker(5))]
  console.log(file.path)
  const most = Number(process.argv[2])
  for (let n = 0; n < most; n++) {
    for (const lane of lanes) {
      lane.of(1 + (n % 7)).add(2, n, 5, { batch: n, firstRow: n % 100, rows: n % 1000 })
      lane.flush()
    }
  }
  console.log('done')
  setInterval(() => {}, 1000)`,
)

function startWriter(most: number) {
  const child = spawn(process.execPath, [writer, String(most)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', data => (said += data))
  const lines = () => {
    const code = child.exitCode
    if (code !== null) throw new Error(`the program that writes spans ended with ${code}`)
    return said.split('\n').slice(0, -1)
  }
  return { child, lines }
}

const whole = ({ number: n, ...record }: SpanRecord) =>
  record.batch === n &&
  record.duration === 5 &&
  record.rows === n % 1000 &&
  record.firstRow === n % 100 &&
  record.ring === 1 + (n % 7) &&
  record.kind === 'decode'

test('a reader in another process counts what it lost', async () => {
  const most = RECORDS + 5000
  const { child, lines } = startWriter(most)
  await until(() => lines().length === 2)
  using spans = attachSpans(lines()[0])
  const { records, lost } = spans.readSince([])
  expect(lost).toBe(2 * 5000)
  expect(records).toHaveLength(2 * RECORDS)
  expect(records.every(whole)).toBe(true)
  expect(spans.lanes().map(({ name, written }) => [name, written])).toEqual([
    ['worker 0', most],
    ['worker 5', most],
  ])
  child.kill('SIGKILL')
  await once(child, 'exit')
})

test('a reader that reads on sees each record once, while they are written', async () => {
  const most = 60_000
  const { child, lines } = startWriter(most)
  await until(() => lines().length > 0)
  using spans = attachSpans(lines()[0])
  let cursor: SpanCursor = []
  let [seen, lost, rounds] = [0, 0, 0]
  const next = new Map<number, number>()
  for (let over = false; ; rounds++) {
    const read = spans.readSince(cursor)
    cursor = read.cursor
    seen += read.records.length
    lost += read.lost
    for (const record of read.records) {
      if (!whole(record)) throw new Error(`torn: ${JSON.stringify(record)}`)
      expect(record.number).toBeGreaterThanOrEqual(next.get(record.lane.lane) ?? 0)
      next.set(record.lane.lane, record.number + 1)
    }
    if (over) break
    over = lines().length === 2
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(seen + lost).toBe(2 * most)
  expect(rounds).toBeGreaterThan(0)
  child.kill('SIGKILL')
  await once(child, 'exit')
})

describe('after kill -9', () => {
  test('at random, 30 times, what is read is whole', async () => {
    for (let time = 0; time < 30; time++) {
      const { child, lines } = startWriter(1e9)
      await until(() => lines().length > 0)
      using spans = attachSpans(lines()[0])
      await new Promise(resolve => setTimeout(resolve, Math.random() * 60))
      child.kill('SIGKILL')
      await once(child, 'exit')
      const { records, lost } = spans.readSince()
      // Of each lane, the record that was being written over.
      expect(lost).toBeLessThanOrEqual(2)
      expect(records.length + lost).toBe(
        spans.lanes().reduce((sum, { written }) => sum + Math.min(written, RECORDS), 0),
      )
      expect(records.filter(record => !whole(record))).toEqual([])
    }
  })

  test('the last seconds of every lane of a program are there', async () => {
    const feed = JSON.stringify(numberFeed(64, { batch: { size: 4, last: 'keep' } }))
    const { start } = programs(folder)
    const { child, ended } = start(`
      const loader = open(${feed}, { workers: 2, epochs: null })
      for await (const batch of loader) await new Promise(resolve => setTimeout(resolve, 2))`)
    await until(() => spanWriters().some(({ pid }) => pid === child.pid))
    using spans = attachSpans(child.pid!)
    // All lanes, while it works: nothing is asked of the program.
    const named = () => new Set(spans.readSince().records.map(({ lane, kind }) => `${lane.name} ${kind}`))
    const wanted = ['worker 0 transform', 'worker 1 transform', 'trainer 0 wait', 'trainer 0 step']
    await until(() => wanted.every(one => named().has(one)))
    const { cursor } = spans.readSince()
    await until(() => spans.readSince(cursor).records.some(({ kind }) => kind === 'step'))
    child.kill('SIGKILL')
    await ended
    const { records } = spans.readSince()
    for (const one of wanted) expect(named()).toContain(one)
    expect(records.every(({ duration, start }) => duration > 0 && start > 0)).toBe(true)
    const last = Math.max(...records.map(({ start, duration }) => start + duration))
    expect(last).toBeLessThanOrEqual(Number(process.hrtime.bigint()) / 1e6)
    expect(() => attachSpans(child.pid!)).toThrow('writes no spans')
  })
})

test('an engine tells its clients where its spans are, and which are theirs', async () => {
  const { socket, child } = serve('--stay')
  const clients = await Promise.all([Client.connect(socket), Client.connect(socket)])
  const opened = []
  for (const [i, client] of clients.entries()) {
    const open = { version: PROTOCOL, pid: process.pid, root: '/', feed: numberFeed(64), name: `feed ${i}` }
    const answer = await client.ask({ open: { ...open, options: { workers: 1, limit: null } } })
    opened.push(answer.opened as { spans: { path: string; ring: number } })
  }
  expect(opened[0].spans.path).toBe(opened[1].spans.path)
  using spans = attachSpans(opened[0].spans.path)
  expect(spans.pid).toBe(child.pid)
  expect(spans.rings().map(({ ring, name, open }) => [ring, name, open])).toEqual([
    [opened[0].spans.ring, 'feed 0', true],
    [opened[1].spans.ring, 'feed 1', true],
  ])
  for (const { spans: reported } of opened)
    await until(() =>
      spans.readSince(undefined, reported.ring).records.some(({ kind }) => kind === 'transform'),
    )
  for (const client of clients) client.end()
})
