/** Bad samples that an engine notes: how many there are in all, and the last of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { open } from '../../../all/index.js'
import { Notes } from '../../../core/spans/notes.js'
import { EngineFacts } from '../../dashboard/run/engine-facts.js'
import { EngineNotes } from '../../live/watcher.js'

test('are counted beyond those that are kept, and these are the last; strange notes are left out', async () => {
  const file = join(temporaryFolder(), 'numbers.txt')
  writeFileSync(file, Array.from({ length: 999 }, (_, i) => `${i % 3 === 0 ? 'none' : i}\n`).join(''))
  const loader = open(
    {
      source: { text: file },
      fields: { data: { from: 'text', as: 'float' } },
      batch: { size: 10 },
      onError: { policy: 'drop', budget: 1000 },
    },
    { workers: 0, epochs: 1 },
  )
  let ring = 0
  for await (const _ of loader) {
    Notes.shared()!.write({ kind: 'ring', ring: 99 })
    Notes.shared()!.write({ kind: 'bad', ring: 99, count: 'many' })
    Notes.shared()!.write({ kind: 'tuner', decision: { event: 'tried', ring: 99 } })
  }
  const facts = new EngineFacts(process.pid)
  for (let i = 1; i < 20; i++) if (facts.bad(i).length > 0) ring = i
  const bad = facts.bad(ring)
  expect(bad).toHaveLength(200)
  expect(bad.map(({ count }) => count)).toEqual(Array.from({ length: 200 }, (_, i) => 134 + i))
  expect(new Set(bad.map(({ id }) => id)).size).toBe(200)
  expect(facts.ring(99)).toBeUndefined()
  expect(facts.bad(99)).toEqual([])
  expect(facts.decisions).toEqual([])
  const notes = new EngineNotes(process.pid, () => ring)
  expect(notes.look().bad).toBe(333)
  expect(loader.stats().bad.count).toBe(333)
  notes.close()
  facts.close()
  await loader.close()
})
