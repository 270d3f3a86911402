/** Input that is wrong as a whole or in a part: the message that reaches the user names the culprit. */
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { engine, type FeedJson, open, using } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { npyOf } from '../../../../../test/support/npy.js'
import { greyPng, jpeg, writeShards } from '../../../../../test/support/pictures.js'
import { tarFile } from '../../../../../test/support/tar.js'
import { start } from '../../../../tools/test/prepare/helpers.js'

const PICTURE = { from: 'jpg', as: 'image', apply: [{ resize: [8, 8] }] } as FeedJson['fields'][string]

const tarFeed = (tar: string | string[], fields: FeedJson['fields'] = { image: PICTURE }): FeedJson => ({
  source: { tar },
  order: 'none',
  fields,
  batch: { size: 4, last: 'keep' },
})

interface Outcome {
  ids?: string[]
  error?: string
}

/** Goes through one epoch; returns what came, or the error. */
async function outcome(json: FeedJson, root: string): Promise<Outcome> {
  try {
    return await using(json, { root, workers: 1 }, async loader => {
      const ids: string[] = []
      for await (const batch of loader) ids.push(...batch.ids)
      return { ids }
    })
  } catch (error) {
    expect(error).toBeInstanceOf(engine.MillraceError)
    return { error: (error as Error).message }
  }
}

const plain = (i: number) => [{ name: `${i}.jpg`, data: jpeg(i, 16) }]

describe('shards', () => {
  test('cut short', async () => {
    const root = temporaryFolder()
    writeShards(root, 8, 1, plain)
    truncateSync(join(root, 'train-0000.tar'), 3000)
    const { error } = await outcome(tarFeed('train-0000.tar'), root)
    expect(error).toMatch(/train-0000\.tar.*(byte|offset) \d+/s)
  })

  test('with a hole', async () => {
    const root = temporaryFolder()
    const whole = tarFile([...plain(0), ...plain(1), ...plain(2)], { pad: false })
    const second = 512 + Math.ceil(jpeg(0, 16).length / 512) * 512
    const holed = Buffer.concat([whole.subarray(0, second), Buffer.alloc(512, 7), whole.subarray(second)])
    writeFileSync(join(root, 'holed.tar'), holed)
    const { error } = await outcome(tarFeed('holed.tar'), root)
    expect(error).toMatch(new RegExp(`holed\\.tar.*${second}`, 's'))
  })

  test('missing from a pattern', async () => {
    const root = temporaryFolder()
    writeShards(root, 8, 2, plain)
    const { error } = await outcome(tarFeed('train-{0000..0002}.tar'), root)
    expect(error).toMatch(/train-0002\.tar/)
  })

  test('newer than their index are indexed again', async () => {
    const root = temporaryFolder()
    writeShards(root, 4, 1, plain)
    expect((await outcome(tarFeed('train-0000.tar'), root)).ids).toHaveLength(4)
    writeShards(root, 7, 1, i => plain(i + 100))
    const later = Date.now() / 1000 + 10
    utimesSync(join(root, 'train-0000.tar'), later, later)
    const { ids } = await outcome(tarFeed('train-0000.tar'), root)
    expect(ids).toEqual(Array.from({ length: 7 }, (_, i) => `train-0000.tar:${100 + i}`))
  })
})

describe('pictures', () => {
  const one = async (data: Uint8Array | string) => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'one.tar'), tarFile([{ name: 'a.jpg', data }]))
    return outcome(tarFeed('one.tar'), root)
  }

  test('a PNG named .jpg is a picture', async () => {
    expect((await one(greyPng(1, 20, 20))).ids).toEqual(['one.tar:a'])
  })

  test.each([
    ['of no bytes', ''],
    ['cut short', jpeg(1, 32).subarray(0, 300)],
    ['that is text', 'These are not the pixels you are looking for.'],
  ])('a .jpg %s', async (_, data) => {
    const { error } = await one(data)
    expect(error).toMatch(/^sample one\.tar:a \(.*one\.tar at byte \d+\): decode of field "image" failed: ./)
  })

  test('a bomb of 30,000 × 30,000 pixels is refused without being unpacked', async () => {
    const bomb = Buffer.from(jpeg(1, 32))
    const frame = bomb.indexOf(Buffer.from([0xff, 0xc0])) // start of frame: length, bits, height, width
    bomb.writeUInt16BE(30_000, frame + 5)
    bomb.writeUInt16BE(30_000, frame + 7)
    const before = process.memoryUsage().rss
    const { error } = await one(bomb)
    expect(error).toMatch(/^sample one\.tar:a .* of field "image" failed: /)
    expect(error).toMatch(/30,?000|MiB/)
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * 2 ** 20)
  })
})

describe('folders and definitions', () => {
  test('an empty folder', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'pictures'))
    const json: FeedJson = {
      ...tarFeed(''),
      source: { folder: 'pictures' },
      fields: { image: { ...PICTURE, from: 'image' } },
    }
    expect((await outcome(json, root)).error).toMatch(/pictures/)
    expect((await outcome({ ...json, source: { folder: 'picture' } }, root)).error).toMatch(/picture/)
  })

  test('a label with garbage', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'one.tar'), tarFile([{ name: 'a.cls', data: 'catz' }]))
    const json = tarFeed('one.tar', { label: { from: 'cls', as: 'int' } })
    expect((await outcome(json, root)).error).toMatch(/sample one\.tar:a .*field "label" failed: .*catz/)
    const named = tarFeed('one.tar', { label: { from: 'cls', as: 'class', classes: ['cat', 'dog'] } })
    expect((await outcome(named, root)).error).toMatch(/sample one\.tar:a .*field "label" failed: .*catz/)
  })

  test('a typo is found before anything is opened', () => {
    const json = tarFeed('nowhere.tar', { image: { ...PICTURE, apply: [{ randomResizeCrop: 8 }] } })
    expect(() => open(json)).toThrow(
      /fields\.image\.apply\[0\].*randomResizeCrop.*did you mean "randomResizedCrop"/,
    )
    expect(() => open({ ...tarFeed('x.tar'), ordre: 'none' } as never)).toThrow(/ordre.*order/)
  })

  test('wrong options are named', () => {
    const json = tarFeed('nowhere.tar')
    expect(() => open(json, { depth: 0 })).toThrow(/options\.depth: .*1 to 32, found 0/)
    for (const timeout of [0, -1, Number.NaN])
      expect(() => open(json, { timeout })).toThrow(/options\.timeout: .*seconds, more than 0, found/)
    expect(() => open(json, { workers: 1.5 })).toThrow(/options\.workers/)
    expect(() => open(json, { rank: 3, world: 2 })).toThrow(/rank 3 is not one of 2/)
    expect(() => open(json, { variant: 'val' })).toThrow(/val/)
  })

  test('the command line says the same in one line', async () => {
    const root = temporaryFolder()
    writeShards(root, 4, 1, i => [{ name: `${i}.jpg`, data: i === 2 ? 'no' : jpeg(i, 16) }])
    const run = (json: FeedJson) =>
      start(['run', JSON.stringify({ ...json, source: { tar: join(root, 'train-{0000..0000}.tar') } })]).ended
    const { code, stdout, stderr } = await run(tarFeed(''))
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr.trim()).toMatch(
      /^millrace: sample train-0000\.tar:2 \(.*\): decode of field "image" failed: .*$/,
    )
    expect((await run({ ...tarFeed(''), onError: 'drop' })).stdout).toMatch(/1 bad sample/)
  })
})

describe('small input, huge work', () => {
  /** Each is a bad sample by its size alone: none of it is unpacked to the end, or parsed. */
  const npyHeader = Buffer.concat([
    Buffer.from('\x93NUMPY\x02\0', 'latin1'),
    Buffer.of(0x60, 0x3d, 0x08, 0), // 540,000
    Buffer.from("'shape':(".repeat(60_000)),
  ])
  const zstdFrames = Buffer.alloc(900_000, Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x01, 0, 0))
  const objects = gzipSync(
    Buffer.concat([Buffer.from('['), Buffer.alloc(60_000_000, '{},'), Buffer.from('{}]')]),
  )
  const values: Record<string, Uint8Array | string>[] = [
    { 'json.gz': gzipSync('{}') },
    { 'json.gz': objects },
    { 'cls.gz': objects },
    { 'boxes.json.gz': objects },
    { 'boxes.json': `[[${'['.repeat(100_000)}${']'.repeat(100_000)}]]` },
    { 'score.txt': `${'1'.repeat(200_000)}x` },
    { 'label.txt': 'ant'.repeat(200_000) },
    { npy: npyHeader },
    { 'packed.npy': zstdFrames },
    ...Array.from({ length: 11 }, () => ({})),
  ]
  const good: Record<string, Uint8Array | string> = {
    'json.gz': gzipSync('{}'),
    'cls.gz': gzipSync('7'),
    'boxes.json': '[[1, 2, 3, 4]]',
    'score.txt': '1.5',
    'label.txt': 'ant',
    npy: npyOf([2, 3], new Uint8Array(6)),
    'packed.npy': Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 8, 0x41, 0, 0, 0, 0, 128, 63, 0, 0, 0, 64),
  }
  const fields: FeedJson['fields'] = {
    meta: { from: 'json', as: 'json' },
    label: { from: 'cls', as: 'int' },
    boxes: { from: 'boxes.json', as: 'boxes' },
    score: { from: 'score.txt', as: 'float' },
    name: { from: 'label.txt', as: 'class', classes: ['ant', 'bee'] },
    numbers: { from: 'npy', as: 'npy', shape: [2, 3], dtype: 'u8' },
    packed: { from: 'packed.npy', as: 'npy', shape: [2], dtype: 'f32', compression: 'zstd' },
  }

  test('drop drops it, and the others come', async () => {
    const root = temporaryFolder()
    const entries = values.flatMap((value, i) => {
      const column = (name: string) => name.replace(/\.gz$/, '')
      const changed = Object.keys(value).map(column)
      const rest = Object.entries(good).filter(([name]) => !changed.includes(column(name)))
      return [...Object.entries(value), ...rest].map(([name, data]) => ({ name: `${i}.${name}`, data }))
    })
    writeFileSync(join(root, 'bombs.tar'), tarFile(entries))
    const json: FeedJson = { ...tarFeed('bombs.tar', fields), onError: { policy: 'drop', budget: 100 } }
    const { ids, bad } = await using(json, { root, workers: 1 }, async loader => {
      const ids: string[] = []
      for await (const batch of loader) ids.push(...batch.ids)
      return { ids, bad: loader.stats().bad }
    })
    expect(ids).toEqual([0, ...Array.from({ length: 11 }, (_, i) => 9 + i)].map(i => `bombs.tar:${i}`))
    expect(bad.samples.map(({ message }) => message)).toEqual([
      expect.stringMatching(/"json" unpacks to more than 65536 bytes, which is all that the field can take/),
      expect.stringMatching(/"cls" unpacks to more than 4096 bytes/),
      expect.stringMatching(/"boxes.json" unpacks to more than 1048576 bytes/),
      expect.stringMatching(/"boxes" failed: is JSON whose lists and objects lie more than 1000 deep/),
      expect.stringMatching(/has 200001 bytes, more than the 4096 that are read for float/),
      expect.stringMatching(/has 600000 bytes, more than the 4096 that are read for class/),
      expect.stringMatching(/npy header has 540000 bytes, more than 10000/),
      expect.stringMatching(/its zstd data has more than 1000 frames/),
    ])
  })
})
