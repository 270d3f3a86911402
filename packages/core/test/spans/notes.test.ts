/** Notes of a process: any process of the same user reads them, whole lines only, and the latest of a key is never lost. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Notes, readNotes } from '../../spans/notes.js'

const notes = Notes.shared()!

test('what is written is read, in its order', () => {
  notes.write({ kind: 'test', text: 'one' })
  notes.write({ kind: 'test', text: 'ü\n"two"' })
  const read = readNotes(process.pid)!.filter(({ kind }) => kind === 'test')
  expect(read.map(({ text }) => text)).toEqual(['one', 'ü\n"two"'])
  expect(read[0].number).toBeLessThan(read[1].number)
})

test('a line that is half written, or damaged, is left out', () => {
  const bytes = Buffer.from('00000000 {"number":99999,"kind":"damaged"}\n')
  writeSync(notes.fd, bytes, 0, bytes.length, 64 + 2 ** 19 + 1000)
  expect(readNotes(process.pid)!.some(({ kind }) => kind === 'damaged')).toBe(false)
})

test('old ones are written over, but not the latest of a key', () => {
  notes.write({ kind: 'kept', value: 1 }, 'a')
  notes.write({ kind: 'kept', value: 2 }, 'a')
  notes.write({ kind: 'kept', value: 3 }, 'b')
  notes.forget('b')
  const text = 'x'.repeat(1000)
  for (let i = 0; i < 2000; i++) notes.write({ kind: 'many', i, text })
  const read = readNotes(process.pid)!
  const many = read.filter(({ kind }) => kind === 'many')
  expect(many.length).toBeGreaterThan(400)
  expect(many.at(-1)!.i).toBe(1999)
  expect(many.map(({ i }) => i)).toEqual(many.map((_, n) => (many[0].i as number) + n))
  expect(read.filter(({ kind }) => kind === 'kept').map(({ value }) => value)).toContain(2)
  expect(read.filter(({ kind, value }) => kind === 'kept' && value === 3)).toEqual([])
})

test('one that is too long is not written', () => {
  expect(notes.write({ kind: 'long', text: 'x'.repeat(70_000) })).toBe(false)
})

test('a process without notes has none, and one that has ended neither', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  expect(readNotes(child.pid!)).toBeUndefined()
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(readNotes(child.pid!)).toBeUndefined()
})
