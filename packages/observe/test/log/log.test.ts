/** Run logs: how lines are written, and how files become runs. */
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { type LogHeader, type LogLine, lineText } from '../../log/lines.js'
import { alignRanks, readLogFile, readRunLog } from '../../log/read.js'
import { LogWriter } from '../../log/writer.js'
import { recordOf } from '../live/records.js'

const BEGUN = recordOf(0).time

function headerOf(more: Partial<LogHeader> = {}): LogHeader {
  return {
    version: 1,
    time: BEGUN,
    at: 0,
    millrace: '0.1.0',
    node: 'v20',
    host: 'here',
    pid: 7,
    trainer: 7,
    engine: 7,
    ring: 1,
    feed: 'cats',
    rank: 0,
    world: 1,
    run: null,
    hashes: { order: 'a', content: 'b' },
    rows: 32,
    stepsInEpoch: 100,
    options: { workers: 2 },
    cores: 2,
    gpu: null,
    ...more,
  }
}

/** A rank that was logged for some seconds. */
function logged(folder: string, header: Partial<LogHeader>, seconds: number, from = 0): string {
  const whole = headerOf({ time: BEGUN + 1000 * from, ...header })
  const writer = LogWriter.open(folder, whole)
  const { rank, host, trainer, world, feed } = whole
  for (let second = from + 1; second <= from + seconds; second++)
    writer.write(recordOf(second, { rank, host, trainer, world, feed }))
  writer.close()
  return writer.path
}

describe('a line', () => {
  test('has digits that count, whole numbers exactly, and null for what is no number', () => {
    const record = recordOf(1, {
      at: 123456789.123456,
      lost: 0.123456789,
      bytes: 2 ** 40 + 1,
      stepMs: Number.NaN,
    })
    const read = JSON.parse(lineText(record))
    expect(read).toMatchObject({ at: 123456789.123, lost: 0.12346, bytes: 2 ** 40 + 1, stepMs: null })
    expect(lineText(record)).toMatch(/^[^\n]+\n$/)
  })
})

describe('the writer', () => {
  test('names files by time, feed, rank, machine and process; none is written over', () => {
    const folder = join(temporaryFolder(), 'not/there/yet')
    for (let i = 0; i < 2; i++) LogWriter.open(folder, headerOf({ feed: '../a b/ü?.tar', rank: 3 })).close()
    expect(readdirSync(folder).sort()).toEqual([
      '20231114T221320.000Z-a-b-.tar-rank3-here-7-2.jsonl',
      '20231114T221320.000Z-a-b-.tar-rank3-here-7.jsonl',
    ])
  })

  test('goes on with a file where a client opens its feed again', () => {
    const folder = temporaryFolder()
    for (let i = 0; i < 2; i++) {
      const writer = LogWriter.open(folder, headerOf({ ring: i + 1 }), true)
      writer.write(recordOf(i + 1))
      writer.write({ end: { time: 1, reason: 'closed' } })
      writer.close()
    }
    const [run, ...others] = readRunLog(folder)
    expect(others).toEqual([])
    expect(run.ranks[0].headers.map(({ ring }) => ring)).toEqual([1, 2])
    expect(run.ranks[0].records).toHaveLength(2)
    expect(run.ranks[0].end).toEqual({ time: 1, reason: 'closed' })
  })

  test('lines are longer after a day', () => {
    const writer = LogWriter.open(temporaryFolder(), headerOf())
    expect([0, 86_399, 86_400, 10 ** 7].map(s => writer.seconds(BEGUN + 1000 * s))).toEqual([1, 1, 10, 10])
    writer.close()
  })

  test('says which folder it can’t write to', () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    expect(() => LogWriter.open(file, headerOf())).toThrow(
      /the run log can't be written to .*file.*Give a folder/,
    )
  })

  test('writes nothing after it was closed', () => {
    const folder = temporaryFolder()
    const writer = LogWriter.open(folder, headerOf())
    writer.close()
    writer.write(recordOf(1))
    expect(readFileSync(writer.path, 'utf8').split('\n')).toHaveLength(2)
  })
})

describe('the reader', () => {
  test('leaves a torn last line out', () => {
    const file = logged(temporaryFolder(), {}, 3)
    const [whole] = readRunLog(file)
    appendFileSync(file, lineText(recordOf(4)).slice(0, 200))
    expect(readRunLog(file)).toEqual([whole])
    expect(whole.ranks[0].records).toHaveLength(3)
    expect(whole.ranks[0].end).toBeNull()
    expect(whole.to).toBe(BEGUN + 3000)
  })

  test('leaves other files out, and says what can’t be read', () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'other.jsonl'), '{"a":1}\nnull\n7\n')
    writeFileSync(join(folder, 'empty.jsonl'), '')
    writeFileSync(join(folder, 'notes.txt'), 'x')
    logged(folder, {}, 1)
    expect(readRunLog(folder)).toHaveLength(1)
    expect(readLogFile(join(folder, 'other.jsonl'))).toBeUndefined()
    expect(() => readRunLog(join(folder, 'none'))).toThrow(/can't read the run log .*none/)
  })

  test('keeps the end, and leaves lines of an older version out', () => {
    const folder = temporaryFolder()
    const writer = LogWriter.open(folder, headerOf())
    const lines: LogLine[] = [
      recordOf(1),
      { alert: { rule: 'lost>5%', since: 1, text: 'x', time: 1 } } as unknown as LogLine,
      recordOf(2),
      { end: { time: BEGUN + 2500, reason: 'the feed was closed' } },
    ]
    for (const line of lines) writer.write(line)
    writer.close()
    const [run] = readRunLog(folder)
    expect(run.ranks[0].records).toHaveLength(2)
    expect(run.ranks[0].end?.reason).toBe('the feed was closed')
    expect([run.from, run.to]).toEqual([BEGUN, BEGUN + 2500])
  })

  test('ranks of several machines are one run; those of other runs and feeds are not', () => {
    const folder = temporaryFolder()
    for (const rank of [2, 0, 3, 1])
      logged(
        folder,
        { rank, world: 4, host: rank < 2 ? 'one' : 'two', trainer: 50 + rank, time: BEGUN + 100 * rank },
        5,
      )
    logged(folder, { feed: 'dogs', world: 4 }, 5)
    logged(folder, { rank: 0, world: 4, trainer: 99 }, 5, 100)
    logged(folder, { rank: 1, world: 4, trainer: 98 }, 5, 100)
    logged(folder, { rank: 0, world: 4, trainer: 97, hashes: { order: 'c', content: 'b' } }, 5, 101)
    const runs = readRunLog(folder).map(({ feed, ranks }) => [
      feed,
      ranks.map(({ rank, trainer }) => [rank, trainer]),
    ])
    expect(runs).toHaveLength(4)
    expect(runs).toContainEqual([
      'cats',
      [
        [0, 50],
        [1, 51],
        [2, 52],
        [3, 53],
      ],
    ])
    expect(runs).toContainEqual(['dogs', [[0, 7]]])
    expect(runs).toContainEqual([
      'cats',
      [
        [0, 99],
        [1, 98],
      ],
    ])
    expect(runs).toContainEqual(['cats', [[0, 97]]])
  })

  test('a launcher tells runs apart that go on at the same time, and joins ranks that come late', () => {
    const folder = temporaryFolder()
    logged(folder, { rank: 0, world: 2, run: 'job 1', trainer: 1 }, 5)
    logged(folder, { rank: 1, world: 2, run: 'job 2', trainer: 2 }, 5)
    logged(folder, { rank: 1, world: 2, run: 'job 1', trainer: 3 }, 5, 60)
    const runs = readRunLog(folder)
    expect(runs.map(({ ranks }) => ranks.map(({ trainer }) => trainer))).toEqual([[1, 3], [2]])
  })

  test('aligns ranks by time', () => {
    const folder = temporaryFolder()
    logged(folder, { rank: 0, world: 3 }, 4)
    const late = LogWriter.open(folder, headerOf({ rank: 2, world: 3, time: BEGUN + 1500 }))
    late.write(recordOf(4, { rank: 2, seconds: 2.02 }))
    late.close()
    const [run] = readRunLog(folder)
    const seen = alignRanks(run).map(({ time, ranks }) => [
      (time - BEGUN) / 1000,
      ranks.map(one => one?.at ?? null),
    ])
    expect(seen).toEqual([
      [1, [1000, null, null]],
      [2, [2000, null, null]],
      [3, [3000, null, 4000]],
      [4, [4000, null, 4000]],
    ])
  })
})
