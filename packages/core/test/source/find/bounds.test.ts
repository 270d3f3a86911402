/** What data name lies in their own folder, or in the root that the definition gives; links are followed, and counted. */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { writeNanogpt } from '../../../../../test/support/tokens.js'
import { boundName } from '../../../../formats/shared/within.js'
import { SourceError } from '../../../basics/errors.js'
import type { SourceJson } from '../../../define/types.js'
import { attachSource, openSource, openSources } from '../../../source/registry.js'
import type { Source } from '../../../source/source.js'
import { asText, readRow } from '../conformance.js'

let root: string
let notices: string[]
beforeEach(() => {
  root = temporaryFolder()
  notices = []
  process.env.MILLRACE_CACHE = join(root, '.cache')
  writeFiles(root, { secret: 'not yours', 'pics/1.jpg': 'one', 'pics/2.jpg': 'two', 'data/3.jpg': 'three' })
})

const context = (wanted: string[]) => ({ root, wanted, notice: (text: string) => notices.push(text) })
const open = async (source: SourceJson, wanted = ['image']): Promise<Source> =>
  attachSource(structuredClone(await openSource(source, context(wanted))))
const failure = async (source: SourceJson): Promise<string> => {
  const error = await openSources(source, context(['image'])).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}
const images = (source: Source, column = 'image'): string[] =>
  Array.from({ length: source.count }, (_, row) => asText(readRow(source, row, [column])[column]))

/** The root that an error proposes. */
const proposed = (message: string): string => /"root": "([^"]+)" would do/.exec(message)?.[1] ?? message

describe('a list of files', () => {
  const list = (rows: string[], more = {}): SourceJson => {
    writeFiles(root, { 'data/list.csv': `path\n${rows.join('\n')}\n` })
    return { files: { list: 'data/list.csv', ...more } }
  }

  it('names nothing outside, by whatever way it is written', async () => {
    for (const row of [
      '../secret',
      '/etc/hostname',
      './x/../../secret',
      'file:///etc/hostname',
      `${root}/data/../secret`,
    ]) {
      const message = await failure(list(['3.jpg', row]))
      expect(message).toContain(`data/list.csv, line 3: ${row} leads out of ${root}/data.`)
    }
    expect(images(await open(list([`${root}/data/3.jpg`, './3.jpg'])))).toEqual(['three', 'three'])
  })

  it('does with the root that the error proposes', async () => {
    for (const rows of [
      ['../pics/1.jpg', '../pics/2.jpg'],
      [`${root}/pics/1.jpg`, `${root}/pics/2.jpg`],
      ['file://ROOT/pics/1.jpg'.replace('ROOT', root), '../pics/2.jpg'],
    ]) {
      const given = proposed(await failure(list(rows)))
      expect(given).toBe(join(root, 'pics'))
      expect(images(await open(list(rows, { root: given })))).toEqual(['one', 'two'])
    }
    expect(await failure(list(['../../pics/1.jpg'], { root: 'data/deeper' }))).toContain(
      `leads out of ${root}/data and ${root}/data/deeper`,
    )
  })

  it('is not led by an index that says otherwise', async () => {
    // An index by an earlier version, of a list that named what lies elsewhere, is made anew.
    const rows = [`${root}/pics/1.jpg`]
    await open(list(rows, { root: '.' }))
    expect(await failure(list(rows))).toContain('leads out of')
  })
})

it('a shard list of wids names no shard outside', async () => {
  const shard = tarFile([{ name: '1.jpg', data: 'one' }])
  const listed = (url: string) =>
    JSON.stringify({ __kind__: 'wids-shard-index-v1', shardlist: [{ url: 'in.tar' }, { url }] })
  writeFiles(root, { 'far/out.tar': shard, 'data/in.tar': shard })
  for (const url of ['../far/out.tar', `${root}/far/out.tar`, `file://${root}/far/out.tar`]) {
    writeFiles(root, { 'data/shards.json': listed(url) })
    const message = await failure({ tar: 'data/shards.json' })
    expect(message).toContain(`data/shards.json: shard ${url} leads out of ${root}/data`)
    const given = proposed(message)
    const source = await open({ tar: { path: 'data/shards.json', root: given } }, ['jpg'])
    expect(images(source, 'jpg')).toEqual(['one', 'one'])
  }
})

it('a list of token files names none outside', async () => {
  mkdirSync(join(root, 'far'))
  const tokens = Array.from({ length: 64 }, (_, i) => i)
  writeNanogpt(root, 'far/out.bin', [tokens])
  writeNanogpt(root, 'data/in.bin', [tokens])
  writeFiles(root, { 'data/list.txt': '1 in.bin a\n1 ../far/out.bin b\n' })
  const blend = { list: 'data/list.txt', tokens: { length: 8 } }
  const message = await failure({ blend } as SourceJson)
  expect(message).toContain(`data/list.txt, line 2: ${root}/far/out.bin leads out of ${root}/data`)
  const { sources } = await openSources(
    { blend: { ...blend, root: proposed(message) } } as SourceJson,
    context([]),
  )
  expect(sources).toHaveLength(2)
})

it('no name leads out of its bounds, unless it is a link', () => {
  const part = fc.constantFrom('..', '.', '', 'a', 'b', '%2e%2e', 'data', '~', 'file:', 's3:')
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, absolute) => {
      const name = (absolute ? '/data/' : '') + parts.join('/')
      let bound: ReturnType<typeof boundName>
      try {
        bound = boundName(name, { folder: '/data/x', root: '/data/y' }, ['/data/y', '/data/x'])
      } catch (error) {
        expect(error).toBeInstanceOf(SourceError)
        return
      }
      const within = (folder: string) =>
        !relative(folder, bound.file).startsWith('..') && bound.file !== folder
      if (bound.inside) expect(within('/data/x') || within('/data/y')).toBe(true)
    }),
  )
})

describe('links in the file system are followed', () => {
  it("in Hugging Face's cache", async () => {
    const cache = 'hub/datasets--me--cats'
    const snapshot = `${cache}/snapshots/abc/train`
    for (let i = 0; i < 3; i++) {
      writeFiles(root, { [`${cache}/blobs/sha${i}`]: `picture ${i}` })
      mkdirSync(join(root, snapshot), { recursive: true })
      symlinkSync(`../../../blobs/sha${i}`, join(root, `${snapshot}/${i}.jpg`))
    }
    writeFiles(root, { [`${cache}/blobs/meta`]: 'file_name\n0.jpg\n2.jpg\n' })
    symlinkSync('../../../blobs/meta', join(root, `${snapshot}/metadata.csv`))
    const all = ['picture 0', 'picture 1', 'picture 2']
    expect(images(await open({ folder: snapshot }))).toEqual(all)
    expect(images(await open({ files: `${snapshot}/*.jpg` }, ['file']), 'file')).toEqual(all)
    const listed = await open({ files: { list: `${snapshot}/metadata.csv`, path: 'file_name' } })
    expect(images(listed)).toEqual(['picture 0', 'picture 2'])
    expect(
      notices
        .filter(text => text.includes('out of it, and are followed'))
        .map(text => /: (\d+) links/.exec(text)?.[1]),
    ).toEqual(['3', '3', '2'])
    // Told again where the index was there.
    notices = []
    await open({ folder: snapshot })
    expect(notices.filter(text => text.includes('3 links lead out of it'))).toHaveLength(1)
  })

  it('of DVC, which links files into its cache, and of linked class folders', async () => {
    writeFiles(root, {
      'proj/.dvc/cache/ab/cd': 'cat',
      'elsewhere/dog/1.jpg': 'dog 1',
      'elsewhere/dog/2.jpg': 'dog 2',
    })
    mkdirSync(join(root, 'proj/data/cat'), { recursive: true })
    symlinkSync('../../.dvc/cache/ab/cd', join(root, 'proj/data/cat/1.jpg'))
    symlinkSync(join(root, 'elsewhere/dog'), join(root, 'proj/data/dog'))
    const source = await open({ folder: 'proj/data' }, ['image', 'label'])
    expect(images(source)).toEqual(['cat', 'dog 1', 'dog 2'])
    // The linked folder is one link, whatever lies in it.
    expect(notices).toEqual([
      expect.stringMatching(/proj\/data: 2 links lead out of it, and are followed \(.*data\/.* → /),
    ])
    notices = []
    writeFiles(root, { 'proj/data.csv': 'path\ndata/cat/1.jpg\ndata/dog/1.jpg\ndata/dog/2.jpg\n' })
    expect(images(await open({ files: { list: 'proj/data.csv' } }))).toEqual(['cat', 'dog 1', 'dog 2'])
    // Files in .dvc/cache lie below the list's folder.
    expect(notices).toEqual([
      expect.stringMatching(/proj: a link leads out of it, and is followed \(.*data\/dog → /),
    ])
  })

  it('without a word where they stay inside, or the folder itself is a link', async () => {
    writeFiles(root, { 'a/real/x/1.jpg': 'one' })
    symlinkSync('real/x', join(root, 'a/y'))
    renameSync(join(root, 'a'), join(root, 'b'))
    symlinkSync('b', join(root, 'a'))
    expect(images(await open({ folder: 'a' }))).toEqual(['one', 'one'])
    expect(notices).toEqual([])
  })
})
