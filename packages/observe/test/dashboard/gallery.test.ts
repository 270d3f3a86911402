/** What the gallery shows is what the batch holds: read out of the ring of this very process, as another one would do it. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../../../../test/support/folder.js'
import { toBf16, toF16 } from '../../../core/basics/dtype.js'
import type { FeedJson, NormalFeed } from '../../../core/define/types.js'
import type { Batch } from '../../../core/deliver/node/batch.js'
import type { Loader } from '../../../core/deliver/node/loader.js'
import type { RingNote } from '../../../core/engine/ring/ring-note.js'
import { toldDefinition } from '../../../core/engine/ring/told-definition.js'
import { badPicture } from '../../dashboard/gallery/bad-pictures.js'
import { Elements } from '../../dashboard/gallery/elements.js'
import { gallery } from '../../dashboard/gallery/gallery.js'
import { drawBoxes } from '../../dashboard/gallery/pixels.js'
import { png } from '../../dashboard/gallery/png.js'
import { RingBytes } from '../../dashboard/gallery/ring-bytes.js'
import { EngineFacts } from '../../dashboard/run/engine-facts.js'

/** As users have it: its worker threads are files of dist/. */
const { open } = (await import(
  new URL('../../../../dist/index.js', import.meta.url).href
)) as typeof import('../../../all/index.js')

/** A picture that can be decoded. */
const GOOD = join(import.meta.dirname, '../../../../test/golden/images/422.jpg')

/** Pixels of a PNG of ours: no filter, RGB. */
function pixels(url: string): { width: number; height: number; bytes: Buffer } {
  const bytes = Buffer.from(url.slice('data:image/png;base64,'.length), 'base64')
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  const length = bytes.readUInt32BE(33)
  expect(bytes.toString('latin1', 37, 41)).toBe('IDAT')
  const rows = inflateSync(bytes.subarray(41, 41 + length))
  const lines = Array.from({ length: height }, (_, y) =>
    rows.subarray(y * (1 + 3 * width) + 1, (y + 1) * (1 + 3 * width)),
  )
  return { width, height, bytes: Buffer.concat(lines) }
}

const loaders: Loader[] = []
afterAll(async () => {
  for (const loader of loaders) await loader.close()
})

/** Of the newest ring of this process. */
function newestNote(): RingNote {
  const facts = new EngineFacts(process.pid)
  const notes = Array.from({ length: 256 }, (_, ring) => facts.ring(ring)).filter(note => note !== undefined)
  facts.close()
  return notes.at(-1)!
}

async function opened(feed: FeedJson, root?: string) {
  const loader = open(feed, { workers: 1, depth: 2, ...(root && { root }) }) as unknown as Loader
  loaders.push(loader)
  await loader.ready
  const iterator = loader[Symbol.asyncIterator]()
  const next = async () => (await iterator.next()).value as Batch
  const batch = await next()
  return { loader, iterator, next, batch, note: newestNote() }
}

const image = (more: object): FeedJson => ({
  source: { synthetic: { count: 64, images: { width: 40, height: 30, classes: 3 } } },
  fields: {
    picture: { from: 'jpg', as: 'image', apply: [{ resize: [24, 32] }], ...more },
    label: { from: 'cls', as: 'int' },
  },
  batch: 4,
})

describe('the gallery', () => {
  test.each([
    ['u8, channels last', { dtype: 'u8', layout: 'hwc' }],
    ['f32, normalized', { apply: [{ resize: [24, 32] }, { normalize: 'imagenet' }] }],
    ['f16, normalized', { apply: [{ resize: [24, 32] }, { normalize: 'clip' }], dtype: 'f16' }],
    ['bf16, channels last', { dtype: 'bf16', layout: 'hwc' }],
  ])('shows pictures as they look: %s', async (_, more) => {
    const plain = await opened(image({ dtype: 'u8', layout: 'hwc' }))
    const { note } = await opened(image(more))
    const { rows, reason, batch, epoch } = await gallery(process.pid, note, 2)
    expect({ reason, epoch, rows: rows.length }).toEqual({ reason: null, epoch: 0, rows: 2 })
    // The newest that is ready, which is not the one that was taken.
    expect(batch).toBeGreaterThanOrEqual(0)
    const first = batch * 4
    expect(rows.map(({ id }) => id)).toEqual([`row ${first}`, `row ${first + 1}`])
    // The same batch of the plain feed.
    let taken = plain.batch
    for (let i = 0; i < batch; i++) taken = await plain.next()
    expect(rows[0].values).toEqual({ label: String((taken.get('label') as BigInt64Array)[0]) })
    const { width, height, bytes } = pixels(rows[0].pictures.picture)
    expect([width, height]).toEqual([32, 24])
    const expected = (taken.get('picture') as Uint8Array).subarray(0, bytes.length)
    // bf16 has 8 bits for each value.
    const most = bytes.reduce((worst, byte, i) => Math.max(worst, Math.abs(byte - expected[i])), 0)
    expect(most).toBeLessThanOrEqual(1)
  })

  test('shows pictures of one channel as gray', async () => {
    const apply = [{ resize: [24, 32] }, { normalize: { mean: 0.4, std: 0.2 } }]
    const { note } = await opened(image({ apply, channels: 1 }))
    const plain = await opened(image({ dtype: 'u8', channels: 1 }))
    const { rows, batch } = await gallery(process.pid, note, 1)
    let taken = plain.batch
    for (let i = 0; i < batch; i++) taken = await plain.next()
    const { bytes } = pixels(rows[0].pictures.picture)
    const expected = taken.get('picture') as Uint8Array
    expect(bytes).toEqual(Buffer.from(bytes.map((_, i) => expected[Math.floor(i / 3)])))
  })

  test('makes large pictures small', async () => {
    const { note } = await opened(image({ apply: [{ resize: [300, 400] }], dtype: 'u8' }))
    const { rows } = await gallery(process.pid, note, 1)
    const { width, height } = pixels(rows[0].pictures.picture)
    expect([width, height]).toEqual([160, 120])
  })

  test('says other values in words: classes, texts, lists, boxes in their picture', async () => {
    const root = temporaryFolder()
    const lines = Array.from({ length: 8 }, (_, i) =>
      JSON.stringify({
        kind: i % 2 ? 'dog' : 'cat',
        says: `w${i} <b>`,
        list: [1, 2, 3].slice(0, (i % 3) + 1),
      }),
    )
    writeFiles(root, { 'a.jsonl': `${lines.join('\n')}\n` })
    const { note } = await opened(
      {
        source: { jsonl: 'a.jsonl' },
        fields: {
          kind: { from: 'kind', as: 'class', classes: ['cat', 'dog'] },
          says: { from: 'says', as: 'text', ragged: { max: 20 } },
          list: { from: 'list', as: 'npy', dtype: 'f32', shape: [3], ragged: {} },
        },
        batch: 8,
      } as unknown as FeedJson,
      root,
    )
    const { rows } = await gallery(process.pid, note, 8)
    expect(rows[1].values).toEqual({ kind: 'dog (1)', says: 'w1 <b>', list: '[2] 1, 2' })
    expect(rows[4].values).toEqual({ kind: 'cat (0)', says: 'w4 <b>', list: '[2] 1, 2' })
    const picture = { width: 10, height: 10, bytes: new Uint8Array(300) }
    drawBoxes(
      picture,
      [
        [2, 4, 12, 16, 0],
        [Number.NaN, 0, 1, 1],
        [-1e9, 0, 1e9, 5],
      ],
      20,
    )
    const lit = (x: number, y: number) => picture.bytes[3 * (10 * y + x)] > 0
    expect([lit(1, 2), lit(5, 2), lit(1, 7), lit(5, 7), lit(3, 4), lit(8, 8)]).toEqual(
      [true, true, true, true, false, false], // biome-ignore format: one line
    )
  })

  test('never shows a slot that was filled anew while it was read', async () => {
    const { note, batch } = await opened(image({ dtype: 'u8' }))
    const ring = RingBytes.open(process.pid, note)!
    const ready = ring.ready()
    expect(ready.length).toBeGreaterThan(0)
    const held = ready.find(one => one.slot === batch.slotIndex)!
    expect(ring.still(held)).toBe(true)
    batch.release()
    expect(ring.still(held)).toBe(false)
    ring.close()
  })

  test('of a ring that is closed, nothing is read', async () => {
    const { loader, note } = await opened(image({ dtype: 'u8' }))
    await loader.close()
    expect(await gallery(process.pid, note, 1)).toMatchObject({ reason: 'the feed is closed', rows: [] })
    expect(await gallery(process.pid, undefined, 1)).toMatchObject({ rows: [] })
  })
})

test('bad samples are noted with their place, once each, and their pictures are found', async () => {
  const root = temporaryFolder()
  const good = readFileSync(GOOD)
  const broken = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 1, 2, 3])
  writeFiles(root, { 'd/a/1.jpg': broken, 'd/a/2.jpg': broken, 'd/b/3.jpg': good, 'd/b/4.jpg': good })
  const { note, iterator } = await opened(
    {
      source: { folder: 'd' },
      fields: {
        image: { from: 'image', as: 'image', apply: [{ resize: [8, 8] }] },
        label: { from: 'label', as: 'int' },
      },
      batch: { size: 2, last: 'keep' },
      onError: { policy: 'drop', budget: 5 },
    },
    root,
  )
  while (!(await iterator.next()).done) {}
  const facts = new EngineFacts(process.pid)
  const bad = facts.bad(note.ring)
  expect(bad.map(({ id }) => id).sort()).toEqual(['a/1.jpg', 'a/2.jpg'])
  expect(bad[0].message).toContain('decode of field "image" failed')
  expect(badPicture(note, bad[0], true)?.type).toBe('image/jpeg')
  expect(badPicture(note, bad[0])?.bytes).toEqual(broken)
  facts.close()
})

test('a definition is told without passwords, and cut where it is too long', async () => {
  const classes = Array.from({ length: 20_000 }, (_, i) => `class ${i}`)
  const { note } = await opened({
    ...image({ dtype: 'u8' }),
    fields: { label: { from: 'cls', as: 'int' }, kind: { from: 'cls', as: 'class', classes, missing: 0 } },
  } as FeedJson).catch(() => ({ note: newestNote() }))
  expect(note.cut).toBe(true)
  expect(note.definition!.fields.kind.classes!.slice(-2)).toEqual(['class 49', '… 19950 more'])
  const source = { tar: ['https://me:secret@host/a.tar?X-Amz-Signature=1', 'shards/a.tar?x'] }
  const told = toldDefinition({ source, fields: [], batch: { apply: [] } } as unknown as NormalFeed)
  expect(told.source).toEqual({ tar: ['https://…@host/a.tar?…', 'shards/a.tar?x'] })
})

test('elements of all floats', () => {
  for (const value of [0, 1, -2.5, 0.000061, 65504, 1e-7]) {
    const bytes = new Uint8Array(new Uint16Array([toF16(value), toBf16(value)]).buffer)
    const half = new Elements(bytes.subarray(0, 2), 'f16').at(0)
    expect(Math.abs(half - value)).toBeLessThanOrEqual(Math.max(2 ** -24, Math.abs(value) / 1024))
    const brain = new Elements(bytes.slice(2), 'bf16').at(0)
    expect(Math.abs(brain - value)).toBeLessThanOrEqual(Math.abs(value) / 128)
  }
})

test('a PNG has the checksums that it must have', () => {
  const bytes = png({ width: 1, height: 1, bytes: new Uint8Array([255, 0, 0]) })
  expect(bytes.toString('hex', 0, 8)).toBe('89504e470d0a1a0a')
  expect(bytes.toString('hex', bytes.length - 12)).toBe('0000000049454e44ae426082')
})

describe('pictures of bad samples', () => {
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3])
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'data'))
  writeFiles(folder, {
    'data/a.jpg': jpeg,
    'data/page.html': '<script>alert(1)</script>',
    'data/large.jpg': Buffer.concat([jpeg, Buffer.alloc(9 * 2 ** 20)]),
    'outside.jpg': jpeg,
  })
  symlinkSync(join(folder, 'outside.jpg'), join(folder, 'data/link.jpg'))
  const note = {
    root: folder,
    definition: { source: { folder: { path: 'data' } } },
  } as unknown as RingNote
  const bad = (file: string, offset = 0) => ({
    kind: 'bad' as const,
    ring: 1,
    count: 1,
    id: 'x',
    message: '',
    file,
    offset,
  })

  test('are read where the source is, and are pictures', () => {
    expect(badPicture(note, bad(join(folder, 'data/a.jpg')))).toEqual({ type: 'image/jpeg', bytes: jpeg })
    expect(badPicture(note, bad('data/a.jpg'))?.type).toBe('image/jpeg')
  })

  test('nothing else is read', () => {
    const files = [
      'data/page.html',
      'data/large.jpg',
      'outside.jpg',
      'data/link.jpg',
      'data/../outside.jpg',
      'data',
    ]
    for (const file of [...files.map(file => join(folder, file)), '/etc/passwd', 'data/none.jpg'])
      expect([file, badPicture(note, bad(file))]).toEqual([file, undefined])
    const everywhere = { root: folder, definition: null } as unknown as RingNote
    expect(badPicture(everywhere, bad(join(folder, 'data/a.jpg')))).toBeUndefined()
  })

  test('within a tar file, too', () => {
    const block = (name: string, size: number) => {
      const head = Buffer.alloc(512)
      head.write(name)
      head.write(size.toString(8).padStart(11, '0'), 124)
      head.write('0', 156)
      head.write('ustar', 257)
      return head
    }
    const pad = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(512 - bytes.length)])
    const text = Buffer.from('3')
    const parts = [
      block('s/1.cls', 1),
      pad(text),
      block('s/1.jpg', jpeg.length),
      pad(jpeg),
      block('s/2.jpg', 3),
    ]
    writeFileSync(join(folder, 'shard-0.tar'), Buffer.concat(parts))
    const shards = {
      root: folder,
      definition: { source: { tar: 'shard-{0..3}.tar' } },
    } as unknown as RingNote
    const at = (offset: number) => badPicture(shards, bad(join(folder, 'shard-0.tar'), offset))
    expect(at(0)).toEqual({ type: 'image/jpeg', bytes: jpeg })
    expect(at(1024)).toEqual({ type: 'image/jpeg', bytes: jpeg })
    expect(at(512)).toBeUndefined()
    expect(at(1e12)).toBeUndefined()
  })
})
