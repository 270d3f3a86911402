import { copyFileSync, existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { runs } from '../../../../../test/support/runs.js'
import { SourceError } from '../../../basics/errors.js'
import { NumberBuilder, TextBuilder } from '../../../source/index/columns.js'
import { IndexFile, readHeader } from '../../../source/index/file.js'
import { writeIndex } from '../../../source/index/write.js'

/** A module of the build: threads and processes of their own run that. */
const built = (path: string): string =>
  JSON.stringify(new URL(`../../../../../build/core/${path}`, import.meta.url).href)

const home = temporaryFolder()

function numbers(values: Iterable<number>): NumberBuilder {
  const builder = new NumberBuilder()
  for (const value of values) builder.push(value)
  return builder
}

function texts(values: Iterable<string>): TextBuilder {
  const builder = new TextBuilder()
  for (const value of values) builder.push(value)
  return builder
}

describe('columns', () => {
  it('choose the narrowest type', () => {
    const type = (...values: number[]) => numbers(values).type
    expect([type(), type(0, 255), type(256), type(65536), type(2 ** 32)]).toEqual([
      'u8',
      'u8',
      'u16',
      'u32',
      'f64',
    ])
    expect([type(-1, 5), type(-1, 2 ** 31), type(0.5), type(Number.NaN)]).toEqual([
      'i32',
      'f64',
      'f64',
      'f64',
    ])
  })

  it('come back from a file as they went in', () => {
    const path = join(home, 'round.millrace')
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.integer(), fc.double(), fc.nat(300))),
        fc.array(fc.string({ unit: 'binary', maxLength: 400 })),
        (values, words) => {
          writeIndex(
            path,
            'test',
            words.length,
            { words: words.length },
            { n: numbers(values), t: texts(words) },
          )
          const index = new IndexFile(path)
          expect(Array.from(index.numbers('n'))).toEqual(
            values.map(v => (Object.is(v, -0) ? expect.closeTo(0) : v)),
          )
          const text = index.text('t')
          expect(Array.from({ length: text.length }, (_, i) => text.at(i))).toEqual(words)
          expect(readHeader(path)).toEqual(index.header)
          expect(index.header.meta).toEqual({ words: words.length })
        },
      ),
      { numRuns: runs(60) },
    )
  })

  it('hold many rows in chunks', () => {
    const path = join(home, 'many.millrace')
    const rows = 300_000
    const n = new NumberBuilder()
    const t = new TextBuilder()
    for (let i = 0; i < rows; i++) {
      n.push(i * 3)
      t.push(`row ${i}`)
    }
    expect(n.at(299_999)).toBe(899_997)
    writeIndex(path, 'test', rows, {}, { n, t })
    const index = new IndexFile(path)
    for (let i = 0; i < rows; i += 997) {
      expect(index.numbers('n')[i]).toBe(i * 3)
      expect(index.text('t').at(i)).toBe(`row ${i}`)
    }
  })

  it('keep raw bytes and empty values', () => {
    const t = new TextBuilder()
    t.padTo(2)
    t.pushBytes(Uint8Array.of(0, 255, 10))
    t.padTo(5)
    writeIndex(join(home, 'raw'), 'test', 5, {}, { t })
    const column = new IndexFile(join(home, 'raw')).text('t')
    expect([0, 1, 2, 3, 4].map(i => [...column.bytes(i)])).toEqual([[], [], [0, 255, 10], [], []])
  })
})

describe('files', () => {
  const path = join(home, 'good.millrace')
  writeIndex(
    path,
    'test',
    3,
    { long: 'x'.repeat(20_000) },
    { n: numbers([1, 2, 3]), t: texts(['a', 'b', 'c']) },
  )

  it('have aligned columns and a header that may be long', () => {
    const { columns, meta } = readHeader(path)
    expect(Object.values(columns).map(({ at }) => at % 64)).toEqual([0, 0])
    expect((meta.long as string).length).toBe(20_000)
  })

  it('are known as torn or foreign when they are', () => {
    const whole = readFileSync(path)
    const bad = join(home, 'bad.millrace')
    const problem = (change: (file: string) => void): string => {
      copyFileSync(path, bad)
      change(bad)
      expect(() => new IndexFile(bad)).toThrow(SourceError)
      try {
        readHeader(bad)
      } catch (error) {
        expect((error as SourceError).file).toBe(bad)
        return (error as Error).message
      }
      return ''
    }
    expect(problem(file => truncateSync(file, whole.length - 64))).toContain('torn')
    expect(problem(file => truncateSync(file, 100))).toContain('torn')
    expect(problem(file => truncateSync(file, 0))).toContain('not an index')
    expect(problem(file => writeFileSync(file, 'something else '.repeat(10)))).toContain('not an index')
    for (const [at, text] of [
      [8, 'format'],
      [16, 'checksum'],
      [200, 'checksum'],
    ] as const) {
      const changed = Buffer.from(whole)
      changed[at] ^= 1
      expect(problem(file => writeFileSync(file, changed))).toContain(text)
    }
  })

  it('removed during a run, or damaged in it, say so, and the damaged one is not used again', () => {
    const used = join(home, 'used.millrace')
    expect(() => new IndexFile(used, true)).toThrow(/used\.millrace is gone: .*start again/)
    copyFileSync(path, used)
    const damaged = readFileSync(used)
    damaged[damaged.length - 64] ^= 1 // the first letter of the last column
    writeFileSync(used, damaged)
    const index = new IndexFile(used, true)
    expect([...index.numbers('n')]).toEqual([1, 2, 3])
    expect(() => index.text('t')).toThrow(/used\.millrace is damaged: the checksum of column "t" is wrong/)
    expect(existsSync(used)).toBe(false)
  })

  it('leave nothing behind when writing fails', () => {
    const folder = temporaryFolder()
    const broken = numbers([1])
    broken.pieces = function* () {
      yield new Uint8Array(8)
      throw new Error('disk full')
    }
    expect(() => writeIndex(join(folder, 'x'), 'test', 1, {}, { broken })).toThrow('disk full')
    expect(readdirSync(folder)).toEqual([])
  })

  it('can be mapped by every thread', async () => {
    const script = join(temporaryFolder(), 'thread.mjs')
    writeFileSync(
      script,
      `import { parentPort, workerData } from 'node:worker_threads'
       import { IndexFile } from ${built('source/index/file.js')}
       const index = new IndexFile(workerData)
       parentPort.postMessage([...index.numbers('n'), index.text('t').at(2)])`,
    )
    const threads = [1, 2].map(() => new Worker(script, { workerData: path }))
    const seen = await Promise.all(
      threads.map(
        thread =>
          new Promise((resolve, reject) => {
            thread.once('message', resolve)
            thread.once('error', reject)
          }),
      ),
    )
    expect(seen).toEqual([
      [1, 2, 3, 'c'],
      [1, 2, 3, 'c'],
    ])
  })
})
