/** What the tools that prepare data make of lines: verify, index, and paths on the command line. */
import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { buildIndex } from '../../../tools/prepare/build-index.js'
import { sourceAt } from '../../../tools/prepare/locate.js'
import { verify } from '../../../tools/prepare/verify/verify.js'

let root: string
beforeEach(() => {
  root = temporaryFolder()
})

it('verify takes values for what they are, whatever a column is called', async () => {
  writeFiles(root, { 'a.csv': 'label,image,json\ncat,a.jpg,x\n7,b.jpg,\n' })
  expect((await verify({ csv: 'a.csv' }, { root, workers: 0 })).bad).toEqual([])
})

it('verify reads every row, and names the line of a bad one', async () => {
  writeFiles(root, { 'a.jsonl.gz': gzipSync('{"label": "x", "id": [1]}\n\n{"label": 3\n{"label": 4}') })
  const { bad, samples } = await verify({ jsonl: 'a.jsonl.gz' }, { root, workers: 0 })
  expect(samples).toBe(3)
  expect(bad).toMatchObject([{ id: 'a.jsonl.gz:1', cause: expect.stringMatching(/^line 3 is no JSON/) }])
})

it('index --force makes the index of every file anew', async () => {
  writeFiles(root, { 'a.txt': 'x\ny\n', 'b.txt': 'z' })
  const sidecar = join(root, '.b.txt.millrace')
  const changed = (): number => statSync(sidecar).mtimeMs
  expect(await buildIndex({ text: '*.txt' }, { root, force: false })).toMatchObject({
    kind: 'text',
    samples: 3,
  })
  utimesSync(sidecar, 1e9, 1e9)
  await buildIndex({ text: '*.txt' }, { root, force: false })
  expect(changed()).toBe(1e12)
  await buildIndex({ text: '*.txt' }, { root, force: true })
  expect(changed()).toBeGreaterThan(1e12)
})

it('compressed tables, and patterns of JSON lines, are sources of their own', async () => {
  expect(await sourceAt('x/a.jsonl.gz')).toEqual({ jsonl: 'x/a.jsonl.gz' })
  expect(await sourceAt('x/a-{0..3}.jsonl')).toEqual({ jsonl: 'x/a-{0..3}.jsonl' })
  expect(await sourceAt('x/*.csv.zst')).toEqual({ csv: 'x/*.csv.zst' })
})
