/** A format costs its folder and a line: the toy in marks/ is added, and everything knows it. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { addFormats } from '../../packages/core/define/format.js'
import { normalizeFeed } from '../../packages/core/define/normalize.js'
import { open } from '../../packages/core/deliver/node/open.js'
import type { State } from '../../packages/core/order/state.js'
import { conforms } from '../../packages/core/test/source/conformance.js'
import { sourceAt } from '../../packages/tools/prepare/locate.js'
import { pythonBuilders } from '../../scripts/generate/sources.mjs'
import { temporaryFolder } from '../support/folder.js'
import { withoutPython } from '../support/python.js'
import { marks, marksFormat } from './marks/format.js'

addFormats(marksFormat)

const marksFile = (count: number, from: number): Buffer =>
  Buffer.concat([Buffer.from('MARK'), ...Array.from({ length: count }, (_, i) => Buffer.alloc(8, from + i))])

const write = (root: string): void => {
  writeFileSync(join(root, 'a.marks'), marksFile(5, 0))
  writeFileSync(join(root, 'b.marks'), marksFile(4, 5))
}

const root = temporaryFolder()
const feedOf = (source: object, order: object | string = 'none') => ({
  source,
  order,
  fields: { label: { from: 'label', as: 'int' } },
  batch: { size: 2, last: 'keep' },
})
beforeAll(() => write(root))

conforms({
  name: 'marks',
  json: marks('*.marks'),
  wanted: ['label', 'data'],
  write,
  change: root => writeFileSync(join(root, 'a.marks'), marksFile(6, 0)),
  count: 9,
  first: { label: '0', data: '\0'.repeat(7) },
})

test('mistakes are named', () => {
  const check = (json: object) => () => normalizeFeed(feedOf({ marks: json }) as never, root)
  expect(check({ path: 'a.marks', skp: 1 })).toThrow('source.marks.skp')
  expect(check({ path: 'a.marks', skip: -1 })).toThrow('source.marks.skip: expected a whole number ≥ 0')
  expect(() => normalizeFeed(feedOf({ mark: 'a.marks' }) as never, root)).toThrow('did you mean "marks"')
})

test('inspect finds it by name, by first bytes, and in a folder', async () => {
  expect(await sourceAt(join(root, 'a.marks'))).toEqual({ marks: join(root, 'a.marks') })
  writeFileSync(join(root, 'nameless'), marksFile(1, 0))
  expect(await sourceAt(join(root, 'nameless'))).toEqual({ marks: join(root, 'nameless') })
  expect(await sourceAt(root)).toEqual({ marks: join(root, '*.marks') })
})

test('an epoch has each row once, and goes on from a state', async () => {
  const feed = feedOf(marks(['a.marks', 'b.marks'], { skip: 1 }), { shuffle: 'global', seed: 7 }) as never
  const labels = async (state?: State, most = Infinity) => {
    const loader = open(feed, { root, workers: 0, epochs: 1, state })
    const found: number[] = []
    for await (const batch of loader) {
      found.push(...Array.from((batch as unknown as { label: ArrayLike<number> }).label, Number))
      if (found.length >= most) break
    }
    return { found, state: loader.state() }
  }
  const whole = await labels()
  expect(whole.found.toSorted()).toEqual([1, 2, 3, 4, 6, 7, 8])
  const first = await labels(undefined, 4)
  expect([...first.found, ...(await labels(first.state)).found]).toEqual(whole.found)
})

test.skipIf(withoutPython)('Python has its builder', () => {
  const code = `from __future__ import annotations
import json
from typing import Optional
from millrace._define.feed import Builder, source_json
from millrace._define.source import Paths, source_of, with_options
${pythonBuilders([marksFormat])}
print(json.dumps(source_json(marks("a.marks", "b.marks", skip=1), "marks")))`
  const { stdout, stderr } = spawnSync('python3', ['-c', code], {
    cwd: join(import.meta.dirname, '../../python'),
  })
  expect(String(stderr)).toBe('')
  expect(JSON.parse(String(stdout))).toEqual(marks(['a.marks', 'b.marks'], { skip: 1 }))
})
