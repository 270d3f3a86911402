/** Files side by side: a zip pairs them by the names of files, in the order of the first source. */
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { using } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { runs } from '../../../../../test/support/runs.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { DefinitionError, SourceError } from '../../../basics/errors.js'
import { normalizeFeed } from '../../../define/normalize.js'
import type { FeedJson, SourceJson } from '../../../define/types.js'
import { planFeed } from '../../../engine/plan/plan.js'
import { attachSource, openSource } from '../../../source/registry.js'
import type { Source } from '../../../source/source.js'
import { asText, readRow } from '../conformance.js'

let root: string
beforeEach(() => {
  root = temporaryFolder()
  process.env.MILLRACE_CACHE = join(root, '.cache')
})

const context = () => ({ root, wanted: ['image', 'mask'] })
const open = async (source: SourceJson): Promise<Source> =>
  attachSource(structuredClone(await openSource(source, context())))
const failure = async (source: SourceJson): Promise<string> => {
  const error = await open(source).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  return error.message
}
const rows = (source: Source) =>
  Array.from({ length: source.count }, (_, row) => {
    const { image, mask } = readRow(source, row, ['image', 'mask'])
    return [asText(image), asText(mask)]
  })
const side = (source: SourceJson, name: string) => ({ source, rename: { file: name } })
const images: SourceJson = { files: 'img/**/*.png' }
const masks: SourceJson = { files: 'msk/**/*.png' }
const both = (more = {}): SourceJson => ({
  zip: { sources: [side(images, 'image'), side(masks, 'mask')], ...more },
})

/** Files of these names below a folder; each holds its folder and its name. */
const write = (folder: string, names: readonly string[], end = '.png') =>
  writeFiles(root, Object.fromEntries(names.map(name => [`${folder}/${name}${end}`, `${folder} ${name}`])))

describe('a zip of files', () => {
  it('refuses names that find no other, and shows three of each', async () => {
    write('img', ['0', '1', '2', '3', '4', '5'])
    write('msk', ['0', '2', '3', '7', '8', '9'])
    expect(await failure(both())).toMatch(
      /only source 0 has 1\.png, 4\.png, 5\.png; only source 1 has 7\.png, 8\.png, 9\.png\. Leave them out/,
    )
    write('msk', ['a'])
    expect(await failure(both())).toContain('7.png, 8.png, 9.png and 1 more')
    write('img', ['x', 'y', 'z', 'zz'])
    expect(await failure(both())).toMatch(/1\.png, 4\.png, 5\.png and 4 more/)
  })

  it('pairs by key, in the order of the first source', async () => {
    // As paths "a-1.png" is before "a.png"; the keys of .jpg files sort as these do, those of folders otherwise.
    const names = ['a', 'a-1', 'b/1', 'b-2', 'c']
    write('img', names)
    write('msk', names, '_m.png')
    const paired = await open(both({ key: ['(.*)', '(.*)_m'] }))
    const ids = Array.from({ length: 5 }, (_, row) => paired.id(row))
    expect(ids).toEqual(['a-1.png', 'a.png', 'b-2.png', 'b/1.png', 'c.png'])
    expect(rows(paired)).toEqual(ids.map(id => [`img ${id.slice(0, -4)}`, `msk ${id.slice(0, -4)}`]))
  })

  it('says which of the files of a sample has a column', async () => {
    write('img', ['0', '1'])
    write('msk', ['0', '1'])
    const subset = { subset: { source: both(), indices: [1] } } as SourceJson
    for (const source of [subset, { concat: [subset, subset] } as SourceJson]) {
      const { where } = await open(source).then(source => ({ where: source.where!.bind(source) }))
      expect(where(0, 'mask')?.file).toBe(join(root, 'msk/1.png'))
      for (const column of ['image', undefined]) expect(where(0, column)?.file).toBe(join(root, 'img/1.png'))
    }
  })

  it('names the file of the field that is bad', async () => {
    write('img', ['0'])
    write('msk', ['0'])
    const feed = {
      source: both(),
      fields: { mask: { from: 'mask', as: 'mask', apply: [{ resize: [4, 4] }] } },
      batch: { size: 1 },
    } as FeedJson
    await using(feed, { root, workers: 0 }, async loader => {
      await expect(loader[Symbol.asyncIterator]().next()).rejects.toThrow(
        `sample 0.png (${join(root, 'msk/0.png')} at byte 0)`,
      )
    })
  })

  it('refuses a pattern that takes for ever', async () => {
    write('img', ['a'.repeat(60)])
    write('msk', ['a'.repeat(60)])
    expect(await failure(both({ key: ['((?:a+)+)b', '(.*)'] }))).toMatch(/key pattern .* takes more than 2 s/)
  })

  it('pairs as Cityscapes names its files', async () => {
    const frames = [
      'aachen/aachen_000000_000019',
      'aachen/aachen_000001_000019',
      'bochum/bochum_000000_000313',
    ]
    write('leftImg8bit/train', frames, '_leftImg8bit.png')
    for (const kind of ['color', 'instanceIds', 'labelIds'])
      write('gtFine/train', frames, `_gtFine_${kind}.png`)
    const zip = (key: string[]): SourceJson => ({
      zip: {
        sources: [
          side({ files: 'leftImg8bit/train/**/*.png' }, 'image'),
          side({ files: 'gtFine/train/**/*_labelIds.png' }, 'mask'),
        ],
        key,
      },
    })
    const source = await open(zip(['(.*)_leftImg8bit', '(.*)_gtFine_labelIds']))
    expect(rows(source)).toEqual(frames.map(name => [`leftImg8bit/train ${name}`, `gtFine/train ${name}`]))
    // A pattern is one of the whole key.
    expect(await failure(zip(['(.*)_leftImg8bit', '(.*)_gtFine']))).toMatch(
      /source 1 has keys that "\(\.\*\)_gtFine" does not match as a whole: aachen\/aachen_000000_000019_gtFine_labelIds,/,
    )
  })

  it('refuses keys that are there twice', async () => {
    write('img', ['0', '1', '2'])
    write('msk', ['0', '1', '2'])
    write('msk', ['1'], '.jpg')
    const twice: SourceJson = { zip: [side(images, 'image'), side({ files: 'msk/*' }, 'mask')] }
    expect(await failure(twice)).toContain('source 1 has several with one key: "1" (1.jpg, 1.png)')
    write('img', ['1'], '.jpg')
    expect(
      await failure({ zip: [side({ files: 'img/*' }, 'image'), side({ files: 'msk/*' }, 'mask')] }),
    ).toContain('source 0 has several with one key')
  })

  it('pairs by position where that is asked for, and beside rows of files', async () => {
    write('img', ['0', '1', '2'])
    write('msk', ['0', '2', '3'])
    expect(rows(await open(both({ by: 'position' })))).toEqual([
      ['img 0', 'msk 0'],
      ['img 1', 'msk 2'],
      ['img 2', 'msk 3'],
    ])
    writeFiles(root, { 'labels.csv': 'mask\na\nb\nc\n' })
    expect(rows(await open({ zip: [side(images, 'image'), { csv: 'labels.csv' }] }))).toEqual([
      ['img 0', 'a'],
      ['img 1', 'b'],
      ['img 2', 'c'],
    ])
    const keyed: SourceJson = {
      zip: { sources: [side(images, 'image'), { csv: 'labels.csv' }], key: ['(.*)', '(.*)'] },
    }
    expect(await failure(keyed)).toContain('"key" goes with sources whose samples are files')
  })

  it('pairs folders, lists and tar shards with each other', async () => {
    write('img', ['b/1', 'a/2', 'a/10'])
    writeFiles(root, {
      'list.csv': 'path\nb/1.png\na/10.png\na/2.png\n',
      'b/1.png': 'list b/1',
      'a/2.png': 'list a/2',
      'a/10.png': 'list a/10',
      'x.tar': tarFile(['a/2', 'b/1', 'a/10'].map(name => ({ name: `${name}.mask`, data: `tar ${name}` }))),
    })
    const expected = (of: string) => ['a/10', 'a/2', 'b/1'].map(name => [`img ${name}`, `${of} ${name}`])
    expect(rows(await open({ zip: [{ folder: 'img' }, { tar: 'x.tar' }] }))).toEqual(expected('tar'))
    expect(
      rows(
        await open({
          zip: [{ folder: 'img' }, { source: { files: { list: 'list.csv' } }, rename: { image: 'mask' } }],
        }),
      ),
    ).toEqual(expected('list'))
    // Also where they stand in other sources.
    const halves: SourceJson = {
      concat: [
        { subset: { source: { tar: 'x.tar' }, range: [2, 3] } },
        { subset: { source: { tar: 'x.tar' }, range: [0, 2] } },
      ],
    }
    expect(rows(await open({ zip: [{ folder: 'img' }, halves] }))).toEqual(expected('tar'))
  })

  it('pairs any names in any order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.stringMatching(/^[a-c0-2._-]{1,4}$/), { minLength: 1, maxLength: 40 }),
        fc.infiniteStream(fc.nat()),
        async (names, random) => {
          const entries = (of: string) =>
            names
              .map((name, i) => ({ at: random.next().value as number, i, name }))
              .sort((a, b) => a.at - b.at)
              .map(({ i }) => ({ name: `k${i}.${of}`, data: `${of} ${i}` }))
          writeFiles(root, { 'i.tar': tarFile(entries('image')), 'm.tar': tarFile(entries('mask')) })
          for (const [image, mask] of rows(await open({ zip: [{ tar: 'i.tar' }, { tar: 'm.tar' }] })))
            expect(mask).toBe(image.replace('image', 'mask'))
        },
      ),
      { numRuns: runs(20) },
    )
  })

  it('refuses what says nothing, by its path', () => {
    const wrong = (more: object): string => {
      const feed = { source: both(more), fields: { image: { from: 'image', as: 'bytes' } }, batch: 1 }
      try {
        normalizeFeed(feed, root)
      } catch (error) {
        expect(error).toBeInstanceOf(DefinitionError)
        return (error as Error).message
      }
      return ''
    }
    expect(wrong({ key: ['(.*)'] })).toContain('source.zip.key: expected a pattern for each of the 2 sources')
    expect(wrong({ key: ['(.*)', '.*'] })).toContain('source.zip.key[1]: expected one group')
    expect(wrong({ key: ['(.*)', '(.*'] })).toContain('source.zip.key[1]: Invalid regular expression')
    expect(wrong({ by: 'name' })).toContain('source.zip.by: unknown way to pair "name"')
    expect(wrong({ by: 'position', key: ['(.*)', '(.*)'] })).toContain(
      'source.zip.by: "position" looks at no key',
    )
    expect(wrong({})).toBe('')
  })
})

describe('a feed of paired files', () => {
  const fields: FeedJson['fields'] = {
    image: { from: 'image', as: 'text' },
    mask: { from: 'mask', as: 'text' },
  }
  const names = Array.from({ length: 24 }, (_, i) => `${i}`)
  /** Masks that sort otherwise than their images: the first of a list is the last of the other. */
  const reversed: SourceJson = {
    zip: { sources: [side(images, 'image'), side(masks, 'mask')], key: ['(.*)', 'm\\d\\d-(.*)'] },
  }
  const feed = (source: SourceJson, more: Partial<FeedJson> = {}): FeedJson => ({
    source,
    fields,
    batch: { size: 4, last: 'keep' },
    ...more,
  })
  const read = (json: FeedJson, options = {}): Promise<string[]> =>
    using(json, { root, workers: 2, ...options }, async loader => {
      const seen: string[] = []
      for await (const batch of loader) {
        const { image, mask } = batch as unknown as { image: string[]; mask: string[] }
        image.forEach((text, i) => {
          expect(mask[i]).toBe(text.replace('img ', 'msk '))
          seen.push(text)
        })
      }
      return seen
    })
  const hashOf = async (source: SourceJson): Promise<string> =>
    (await planFeed(normalizeFeed(feed(source), root))).hashes.order

  beforeEach(() => {
    write('img', names)
    writeFiles(
      root,
      Object.fromEntries(
        names.map((name, i) => [`msk/m${String(50 - i).padStart(2, '0')}-${name}.png`, `msk ${name}`]),
      ),
    )
  })

  it('is right through subset, split, variants, weights and resume', async () => {
    const all = names.map(name => `img ${name}`).sort()
    expect((await read(feed(reversed))).sort()).toEqual(all)
    expect(await read(feed({ subset: { source: reversed, indices: [20, 3, 11] } }))).toHaveLength(3)
    const part = (take: string): SourceJson => ({
      split: { source: reversed, parts: { train: 0.7, val: 0.3 }, take },
    })
    const variants = { val: { source: part('val') as unknown as Record<string, unknown> } }
    const divided = feed(part('train'), { variants })
    const [train, val] = [await read(divided), await read(divided, { variant: 'val' })]
    expect([...train, ...val].sort()).toEqual(all)
    expect(await read(feed(reversed, { order: { weights: { column: 'size' }, seed: 3 } }))).toHaveLength(24)

    const shuffled = feed(reversed, { order: { shuffle: 'global', seed: 5 } })
    const whole = await read(shuffled)
    const first: string[] = []
    const state = await using(shuffled, { root, workers: 2 }, async loader => {
      for await (const batch of loader) {
        first.push(...(batch as unknown as { image: string[] }).image)
        if (first.length === 12) break
      }
      return loader.state()
    })
    expect([...first, ...(await read(shuffled, { state, epochs: 1 }))]).toEqual(whole)
  })

  it('has another order hash only where pairing differs from positions', async () => {
    write('same', names)
    const same = (rules: object): SourceJson => ({
      zip: { sources: [side(images, 'image'), side({ files: 'same/*.png' }, 'mask')], ...rules },
    })
    const plain: SourceJson = { zip: [side(images, 'image'), side({ files: 'same/*.png' }, 'mask')] }
    const before = await hashOf(plain)
    for (const rules of [{}, { by: 'position' }, { key: ['(.*)', '(.*)'] }])
      expect(await hashOf(same(rules))).toBe(before)
    expect(await hashOf(reversed)).not.toBe(await hashOf(both({ by: 'position' })))
  })
})
