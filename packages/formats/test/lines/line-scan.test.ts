/** Where rows begin: compared with a plain splitting of the text, for every way in which the bytes may come in pieces. */
import fc from 'fast-check'
import { describe, expect, it, test, vi } from 'vitest'
import { SourceError } from '../../../core/basics/errors.js'
import { LineScan, LONGEST_ROW, type RowRule } from '../../lines/line-scan.js'

function scan(text: string | Uint8Array, rule: RowRule, { cuts = [] as number[], headed = false } = {}) {
  const bytes = Buffer.from(text as string)
  const found = new LineScan('a.txt', rule, 0x2c, headed)
  const borders = [0, ...cuts.map(cut => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (let i = 1; i < borders.length; i++) found.push(bytes.subarray(borders[i - 1], borders[i]))
  found.end()
  const starts = Array.from({ length: found.count }, (_, i) => found.starts.at(i))
  const rows = starts.slice(1).map((end, i) => bytes.toString('utf8', starts[i], end))
  const lines = rows.map((_, i) => (found.plain ? i + (headed ? 2 : 1) : found.lines.at(i)))
  return { rows, lines, plain: found.plain, header: found.header }
}

describe('rows', () => {
  it('are lines, with and without a last line break', () => {
    expect(scan('a\nbb\n', 'lines').rows).toEqual(['a\n', 'bb\n'])
    expect(scan('a\nbb', 'lines').rows).toEqual(['a\n', 'bb'])
    expect(scan('a\r\n\r\nb', 'lines').rows).toEqual(['a\r\n', '\r\n', 'b'])
    expect(scan('', 'lines').rows).toEqual([])
    expect(scan('\n', 'lines').rows).toEqual(['\n'])
  })

  it('begin behind a byte order mark', () => {
    expect(scan('\ufeffa\nb', 'lines').rows).toEqual(['a\n', 'b'])
    expect(scan('\ufeff', 'filled').rows).toEqual([])
    expect(scan('\ufeff"x\ny",1\n', 'records', { cuts: [1, 2] }).rows).toEqual(['"x\ny",1\n'])
  })

  it('leave out blank lines where those are no rows, and keep the numbers of lines', () => {
    expect(scan('\n{}\n \t\r\n\n{}\n', 'filled')).toMatchObject({
      rows: ['{}\n \t\r\n\n', '{}\n'],
      lines: [2, 5],
      plain: false,
    })
    expect(scan('{}\n{}', 'filled').plain).toBe(true)
  })

  it('of CSV have line breaks within quotes, which open only at the beginning of a cell', () => {
    expect(scan('a,"b\n""c""\n",d\ne,f"g,h\n', 'records')).toMatchObject({
      rows: ['a,"b\n""c""\n",d\n', 'e,f"g,h\n'],
      lines: [1, 4],
      plain: false,
    })
    expect(scan('a,"b"\n\n \nc,d', 'records').rows).toEqual(['a,"b"\n\n', ' \n', 'c,d'])
  })

  it('of CSV begin behind the header', () => {
    const { rows, plain, header } = scan('"a\nb",c\n1,2\n', 'records', { headed: true })
    expect(rows).toEqual(['1,2\n'])
    expect(header).toEqual([0, 8])
    expect(plain).toBe(false)
    expect(scan('a,b\n1,2\n3,4', 'records', { headed: true }).plain).toBe(true)
  })

  it('are the same however the bytes come', () => {
    const text = fc
      .array(fc.constantFrom('a', '"', '""', ',', '\n', '\r\n', ' ', '\t', 'é', '\ufeff'), { maxLength: 40 })
      .map(parts => parts.join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 6 }), fc.boolean(), (text, cuts, headed) => {
        for (const rule of ['lines', 'filled', 'records'] as const) {
          const attempt = (cuts: number[]) => {
            try {
              return scan(text, rule, { cuts, headed: headed && rule === 'records' })
            } catch (error) {
              expect(error).toBeInstanceOf(SourceError)
              return (error as Error).message
            }
          }
          expect(attempt(cuts)).toEqual(attempt([]))
        }
      }),
    )
  })
})

describe('what is no text', () => {
  it('is refused by name', () => {
    expect(() => scan(Buffer.from('\ufeffa', 'utf16le'), 'lines')).toThrow(
      /a\.txt is UTF-16: save it as UTF-8/,
    )
    expect(() => scan('a,b\n1,"2\n3,4\n', 'records')).toThrow(
      /a\.txt, line 2 \(byte 4\): a quote begins in this row and does not end/,
    )
  })

  it('is refused where a line is too long, without being kept', () => {
    const found = new LineScan('a.txt', 'lines')
    const piece = Buffer.alloc(64 << 20, 0x61)
    const push = () => {
      for (let bytes = 0; bytes <= LONGEST_ROW; bytes += piece.length) found.push(piece)
    }
    expect(push).toThrow(/a\.txt, line 1 \(byte 0\): this row is longer than 256 MiB: .* is this file text\?/)
  })
})

test.each(['filled', 'records'] as const)('empty lines are passed over together: %s', rule => {
  const text = Buffer.from(`{"a":1}\n${'\n'.repeat(5000)}{"a":2}\n`)
  const search = vi.spyOn(Buffer.prototype, 'indexOf')
  const scan = new LineScan('x.jsonl', rule)
  for (let at = 0; at < text.length; at += 1000) scan.push(text.subarray(at, at + 1000))
  scan.end()
  const searches = search.mock.calls.length
  search.mockRestore()
  expect(searches).toBeLessThan(100)
  expect([scan.count, scan.starts.at(1), scan.lines.at(1)]).toEqual([3, 5008, 5002])
})
