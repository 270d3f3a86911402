/** `verify` and `index` where an index is there, and wrong. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import { readHeader } from '../../../core/source/index/file.js'
import { rewriteMeta } from '../../../core/source/index/write.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { verify } from '../../prepare/verify/verify.js'
import { millrace } from './helpers.js'

describe('indexes', () => {
  const shard = (labels: string) =>
    tarFile(
      [...labels].flatMap((label, i) => [
        { name: `k${i}.cls`, data: label },
        { name: `k${i}.txt`, data: 'x' },
      ]),
    )
  const labelsOf = async (root: string) => {
    const source = attachSource(await openSource({ tar: 'a.tar' }, { root, wanted: [] }))
    return Array.from({ length: source.count }, (_, row) => source.index('cls')?.at(row)).join('')
  }

  it('are not believed: one that says something else than its shard is rebuilt, with a notice', async () => {
    const root = temporaryFolder()
    const index = join(root, '.a.tar.millrace')
    writeFileSync(join(root, 'a.tar'), shard('12345'))
    expect(await labelsOf(root)).toBe('12345')
    const { meta } = readHeader(index)
    // The index of another shard that claims to be this one's: every checksum in it is right.
    writeFileSync(join(root, 'b.tar'), shard('54321'))
    await openSource({ tar: 'b.tar' }, { root, wanted: [] })
    renameSync(join(root, '.b.tar.millrace'), index)
    rewriteMeta(index, meta)
    expect(await labelsOf(root)).toBe('54321')

    const notices: string[] = []
    const verified = () =>
      verify({ tar: 'a.tar' }, { root, workers: 0, onNotice: text => notices.push(text) })
    expect((await verified()).bad).toEqual([])
    expect(notices).toEqual([expect.stringMatching(/a\.tar did not agree with the data and was rebuilt/)])
    expect(await labelsOf(root)).toBe('12345')
    await verified()
    expect(notices).toHaveLength(1)
  })

  it('and the command line tells of it, and of data that changed', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'a.tar'), shard('1234'))
    expect((await millrace('index', join(root, 'a.tar'))).code).toBe(0)
    const index = join(root, '.a.tar.millrace')
    const bytes = readFileSync(index)
    bytes[bytes.length - 10] ^= 1
    writeFileSync(index, bytes)
    const { code, stdout, stderr } = await millrace('verify', join(root, 'a.tar'))
    expect([code, stdout]).toEqual([0, expect.stringContaining('all good')])
    expect(stderr).toMatch(/notice: the index of .*a\.tar is rebuilt: .*damaged/)

    mkdirSync(join(root, 'd'))
    writeFileSync(join(root, 'd', '2.cls'), '1')
    await millrace('index', join(root, 'd/*'))
    writeFileSync(join(root, 'd', '2.cls'), '10')
    expect((await millrace('index', join(root, 'd/*'))).stderr).toMatch(
      /notice: .*2\.cls was changed after the index was made/,
    )
  })
})
