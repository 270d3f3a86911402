/** Ranges of a file: each line is in exactly one of them, wherever they are cut. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { LineMemory } from '../../../prepare/tokenize/json/line-memory.js'
import { LineNumbers, readRange } from '../../../prepare/tokenize/read/lines.js'

const folder = temporaryFolder()

test('every line is in one range', () => {
  const memory = new LineMemory()
  const file = join(folder, 'lines.txt')
  const line = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\r', ' '), maxLength: 6 })
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.boolean(),
      fc.array(fc.nat(80), { maxLength: 6 }),
      (lines, ended, cuts) => {
        const text = Buffer.from(lines.join('\n') + (ended && lines.length > 0 ? '\n' : ''))
        writeFileSync(file, text)
        const { size: bytes, mtimeMs } = statSync(file)
        const borders = [...new Set([0, ...cuts.filter(cut => cut < bytes), bytes])].sort((a, b) => a - b)
        const found: string[] = []
        const offsets: number[] = []
        let reported = 0
        for (let i = 0; i + 1 < borders.length; i++) {
          const each = () => {
            found.push(Buffer.from(memory.line).toString())
            offsets.push(memory.offset)
          }
          const report = (more: number) => (reported += more)
          readRange({ file, kind: 'lines', bytes, mtimeMs }, borders[i], borders[i + 1], memory, each, report)
        }
        const all = text.toString().split('\n')
        const last = all.pop() as string
        const expected = all.map(one => one.replace(/\r$/, ''))
        if (last !== '') expected.push(last)
        expect(found).toEqual(expected)
        const numbers = new LineNumbers()
        expect(offsets.map(offset => numbers.at(file, offset))).toEqual(offsets.map((_, i) => i + 1))
        expect(new LineNumbers().at(file, offsets.at(-1) ?? 0)).toBe(Math.max(1, offsets.length))
        // One byte before each range is looked at, and what is behind it is not counted.
        expect(reported).toBeLessThanOrEqual(bytes + borders.length)
      },
    ),
  )
})
