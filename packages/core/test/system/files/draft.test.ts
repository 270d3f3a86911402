import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Draft, sweepDrafts, writeWhole } from '../../../system/files/draft.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-draft-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it.each([true, false])('a file appears whole, or replaces one whole (sync %s)', sync => {
  const path = join(folder, 'state.json')
  writeWhole(path, 'one', sync)
  writeWhole(path, new Uint8Array([50]), sync)
  expect(readFileSync(path, 'latin1')).toBe('2')
  expect(readdirSync(folder)).toEqual(['state.json'])
})

it('a draft that is given up leaves nothing', () => {
  const draft = Draft.open(join(folder, 'a'))
  draft.write(new Uint8Array(1000))
  expect(draft.bytes).toBe(1000)
  draft.discard()
  expect(readdirSync(folder)).toEqual([])
})

it('a missing folder is told at once', () => {
  expect(() => Draft.open(join(folder, 'no/such/place'))).toThrow(/ENOENT/)
})

it('drafts of the dead are swept away, those of the living stay', () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid
  for (const pid of [dead, process.pid, process.ppid]) {
    writeFileSync(join(folder, `.millrace-draft-${pid}-x.tar`), '')
  }
  writeFileSync(join(folder, '.other'), '')
  sweepDrafts(folder)
  expect(readdirSync(folder)).toHaveLength(3)
  sweepDrafts(folder, true)
  expect(readdirSync(folder).sort()).toEqual([`.millrace-draft-${process.ppid}-x.tar`, '.other'])
})

it('a file that can’t take the place of what is there leaves nothing beside it', () => {
  mkdirSync(join(folder, 'index/full'), { recursive: true })
  expect(() => writeWhole(join(folder, 'index'), 'x')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
  expect(readdirSync(folder)).toEqual(['index'])
})

it('a disk that takes no more is told with the name of the file', () => {
  const built = new URL('../../../../../build/core/system/files/draft.js', import.meta.url).href
  const path = join(folder, 'state.json')
  const program = `import { writeWhole } from ${JSON.stringify(built)}
try { writeWhole(${JSON.stringify(path)}, 'x') } catch ({ code, path }) { console.log(code, path) }`
  const words = [process.execPath, '--input-type=module', '-e', program]
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -f 0; exec "$@"', 'bash', ...words], {
    encoding: 'utf8',
  })
  expect(stdout).toBe(`EFBIG ${path}\n`)
})
