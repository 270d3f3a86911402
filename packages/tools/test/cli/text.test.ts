import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { printable } from '../../../core/basics/errors.js'
import { Progress } from '../../cli/progress.js'
import { asJson } from '../../cli/say.js'
import { bar, pairs, table, wrap } from '../../cli/table.js'
import { bytes, count, duration, money, parseBytes, percent, rate } from '../../cli/units.js'

describe('what is written to a terminal', () => {
  it('goes through one function that escapes', () => {
    const cli = join(import.meta.dirname, '../../cli')
    const raw = readdirSync(cli, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts') && !['say.ts', 'progress.ts'].includes(file))
      .flatMap(file =>
        readFileSync(join(cli, file), 'utf8')
          .split('\n')
          .filter(line => /(stdout|stderr)\.write|console\./.test(line)),
      )
    expect(raw.filter(line => !line.includes("write('\\r\\x1b[K')"))).toEqual([])
  })

  it('as JSON is the same value', () => {
    const value = { name: 'a\x1b\x7f\x9b\u2028\u202eb 😀 "\\"', list: [1, null] }
    const text = asJson(value)
    expect(JSON.parse(text)).toEqual(value)
    expect(text).toBe(printable(text))
  })
})

describe('units', () => {
  it.each([
    [bytes(0), '0 B'],
    [bytes(1023), '1023 B'],
    [bytes(1536), '1.50 KiB'],
    [bytes(256 * 2 ** 20), '256 MiB'],
    [count(1281167), '1,281,167'],
    [duration(0.0000123), '12.3 µs'],
    [duration(0.25), '250 ms'],
    [duration(59.94), '59.9 s'],
    [duration(75), '1:15'],
    [duration(7325), '2:02:05'],
    [duration(Number.POSITIVE_INFINITY), '–'],
    [rate(2431.4), '2,431/s'],
    [rate(0.512), '0.51/s'],
    [percent(0.9345), '93.5 %'],
    [money(1234.5), '$1,234.50'],
  ])('%s', (text, wanted) => expect(text).toBe(wanted))

  it('reads amounts as people write them', () => {
    expect(parseBytes('256MiB')).toBe(2 ** 28)
    expect(parseBytes('3e9')).toBe(3e9)
    expect(parseBytes('1.5 GB')).toBe(1.5e9)
    expect(parseBytes('12 parrots')).toBeUndefined()
    expect(parseBytes('')).toBeUndefined()
    expect(parseBytes('-3')).toBeUndefined()
  })
})

describe('tables', () => {
  it('aligns columns', () => {
    const text = table(
      ['name', { title: 'n', align: 'right' }],
      [
        ['a', 1],
        ['long', 12345],
      ],
    )
    expect(text).toBe('name      n\n────  ─────\na         1\nlong  12345')
    expect(
      pairs([
        ['a', 'x'],
        ['bcd', 'y'],
      ]),
    ).toBe('a    x\nbcd  y')
  })

  it('draws bars within their cells', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -1, max: 2, noNaN: true }),
        fc.integer({ min: 1, max: 40 }),
        (fraction, cells) => {
          expect([...bar(fraction, cells)].length).toBeLessThanOrEqual(cells)
        },
      ),
    )
    expect(bar(0.5, 4)).toBe('██')
  })

  it('wraps at words', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  })
})

describe('progress', () => {
  const watch = (isTTY: boolean) => {
    const written: string[] = []
    let clock = 0
    const progress = new Progress('packing', {
      unit: 'samples',
      total: 1000,
      stream: { isTTY, columns: 120, write: text => written.push(text) },
      now: () => clock,
    })
    return { progress, written, wait: (ms: number) => (clock += ms) }
  }

  it('redraws one line on a terminal, with rate and time to go', () => {
    const { progress, written, wait } = watch(true)
    progress.set(0)
    wait(1000)
    progress.set(100)
    wait(1)
    progress.set(101)
    expect(written).toHaveLength(2) // the third came too soon
    expect(written[1].startsWith('\r\x1b[K')).toBe(true)
    expect(written[1]).toContain('10 %  100 of 1,000 samples  100/s  9.00 s left')
    progress.end()
    expect(written.at(-1)).toBe('\r\x1b[K')
  })

  it('counts what the work at hand counts, and takes the rate of that work alone', () => {
    const { progress, written, wait } = watch(true)
    progress.set(0, 0, 'listing photos', 'files')
    wait(1000)
    progress.set(500, 0, 'listing photos', 'files')
    wait(1000)
    progress.set(2 ** 20, 2 ** 22, 'indexing tar shards', 'bytes')
    wait(1000)
    progress.set(2 ** 21, 2 ** 22, 'indexing tar shards', 'bytes')
    expect(written[1]).toContain('listing photos  500 files  500/s')
    expect(written[2]).not.toContain('left')
    expect(written[3]).toContain('2.00 MiB of 4.00 MiB  1.00 MiB/s  2.00 s left')
  })

  it('tells the rate of tokens beside that of bytes', () => {
    const { progress, written, wait } = watch(true)
    progress.set(0, 2 ** 22, 'tokenising', 'bytes', 0)
    wait(1000)
    progress.set(2 ** 21, 2 ** 22, 'tokenising', 'bytes', 500_000)
    expect(written[1]).toContain('2.00 MiB of 4.00 MiB  2.00 MiB/s  500,000 tokens/s  1.00 s left')
  })

  it('writes a line now and then elsewhere', () => {
    const { progress, written, wait } = watch(false)
    for (let i = 1; i <= 100; i++) {
      wait(100)
      progress.set(10 * i)
    }
    expect(written.length).toBe(2)
    expect(written[0]).toMatch(/^packing {2}50 % {2}500 of 1,000 samples {2}100\/s {2}5.00 s left\n$/)
    progress.end()
  })
})
