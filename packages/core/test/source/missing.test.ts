/** "The sample has no column X; it has …": lists what that very sample has, and names members that are not adjacent. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { tarFile } from '../../../../test/support/tar.js'
import type { SourceJson } from '../../define/types.js'
import { missingColumn } from '../../source/missing.js'
import { attachSource, openSource, openSources } from '../../source/registry.js'

let root: string
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
})

const shard = (name: string, members: string) =>
  writeFileSync(join(root, name), tarFile(members.split(' ').map(member => ({ name: member, data: member }))))

async function message(json: SourceJson, row: number, ...wanted: string[]): Promise<string> {
  const source = attachSource(await openSource(json, { root, wanted }))
  return missingColumn(source, row, wanted)
}

it('lists what this sample has', async () => {
  shard('a.tar', 'a.jpg a.cls b.png b.json.gz c.txt')
  const tar: SourceJson = { tar: 'a.tar' }
  expect(await message(tar, 0, 'webp')).toBe('the sample has no column "webp"; it has jpg, cls')
  expect(await message(tar, 1, 'jpg', 'webp')).toBe(
    'the sample has no column "jpg" or "webp"; it has png, json',
  )
  writeFiles(root, { 'f/1.npy': '', 'f/2': '' })
  const files: SourceJson = { files: 'f/*' }
  expect(await message(files, 1, 'paht')).toBe(
    'the sample has no column "paht"; it has file, path, name: did you mean "path"?',
  )
  expect(await message(files, 1, 'npy')).toBe('the sample has no column "npy"; it has file, path, name')
  expect(await message({ concat: [tar, files] }, 3, 'jpg')).toMatch(/it has npy, file, path, name$/)
  expect(await message({ subset: { source: tar, indices: [2, 1] } }, 0, 'jpg')).toMatch(/it has txt$/)
  const beside: SourceJson = {
    zip: { sources: [{ subset: { source: tar, range: [0, 2] } }, files], by: 'position' },
  }
  expect(await message(beside, 0, 'x')).toMatch(/it has jpg, cls, npy, file, path, name$/)
  const { sources } = await openSources(
    { blend: { entries: [{ source: tar, weight: 1, rename: { jpg: 'image' } }] } },
    { root, wanted: [] },
  )
  expect(missingColumn(attachSource(sources[0].manifest), 0, ['x'])).toMatch(/it has image, cls, source$/)
})

it('tells a column without a value from one that is not there', async () => {
  writeFiles(root, { 'a.jsonl': '{"x": 1, "y": 1}\n{"x": null, "y": 1}\n' })
  expect(await message({ jsonl: 'a.jsonl' }, 1, 'z', 'x')).toBe(
    'column "x" of the sample has no value: "missing" of the field says what stands for that',
  )
})

it('names members of the sample that are not adjacent', async () => {
  shard('split.tar', 'a.jpg b.jpg c.jpg a.cls b.cls c.cls')
  expect(await message({ tar: 'split.tar' }, 1, 'cls')).toBe(
    'the sample has no column "cls"; it has jpg. Another sample of the same key "b", at byte 4608, has cls: members of one ' +
      'sample must be adjacent in the tar; write it again sorted by name (tar --sort=name)',
  )
  expect(await message({ tar: 'split.tar' }, 4, 'jpg')).toMatch(/it has cls\. .*"b", at byte 1536, has jpg/)
  shard('twice.tar', 'a.jpg a.cls b.jpg a.jpg a.cls')
  expect(await message({ tar: 'twice.tar' }, 1, 'cls')).toMatch(/it has jpg$/)
  expect(await message({ tar: 'twice.tar' }, 0, 'png')).toMatch(/it has jpg, cls$/)
})

it('says of a shard that its members are not adjacent', async () => {
  const notices = async (name: string, members: string) => {
    const reported: string[] = []
    shard(name, members)
    await openSource({ tar: name }, { root, wanted: [], notice: text => reported.push(text) })
    return reported
  }
  expect(await notices('split.tar', 'a.jpg b.jpg b.cls c.jpg a.cls c.cls')).toEqual([
    expect.stringMatching(
      /split\.tar: the members of 2 of its samples \(such as "a"\) are not adjacent.*--sort=name/,
    ),
  ])
  expect(await notices('whole.tar', 'a.jpg a.cls b.jpg b.cls a.jpg a.cls')).toEqual([])
})
