import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { paxRecords, sealHeader, type TarEntry, tarFile, tarMember } from '../../../../test/support/tar.js'
import { SourceError } from '../../../core/basics/errors.js'
import { SampleColumns, splitName } from '../../tar/samples.js'
import { scanTar } from '../../tar/scan.js'

type Member = [name: string, size: number, small: string | undefined]

async function scan(tar: Buffer): Promise<Member[]> {
  const members: Member[] = []
  await scanTar(reader(tar), tar.length, 'x.tar', {
    member(name, offset, size, small) {
      expect(offset + size).toBeLessThanOrEqual(tar.length)
      members.push([name, size, small && Buffer.from(small).toString()])
    },
  })
  return members
}

const reader = (tar: Buffer) => async (into: Buffer, position: number) =>
  tar.copy(into, 0, position, Math.min(tar.length, position + into.length))

async function failure(tar: Buffer): Promise<SourceError> {
  const error = await scan(tar).catch(e => e)
  expect(error).toBeInstanceOf(SourceError)
  expect(error.file).toBe('x.tar')
  return error
}

const big = Buffer.alloc(3000, 'b')

describe('members', () => {
  it('finds regular files, with their small contents', async () => {
    const tar = tarFile([{ name: 'a.cls', data: '7' }, { name: 'a.jpg', data: big }, { name: 'e.txt' }])
    expect(await scan(tar)).toEqual([
      ['a.cls', 1, '7'],
      ['a.jpg', 3000, undefined],
      ['e.txt', 0, ''],
    ])
  })

  it('reads PAX names and sizes, global ones too, GNU long names, prefixes and binary sizes', async () => {
    const long = `${'d/'.repeat(150)}é.jpg`
    const entries: TarEntry[] = [
      { name: 'pax_global', type: 'g', data: paxRecords({ comment: 'x' }) },
      { name: 'PaxHeader', type: 'x', data: paxRecords({ mtime: '1.5', path: long, size: '5' }) },
      { name: 'short', data: 'hello', size: 0 },
      { name: '././@LongLink', type: 'L', data: `${long}\0` },
      { name: 'cut', data: 'abc', magic: 'ustar  \0' },
      { name: 'b.jpg', data: 'x', prefix: 'some/folder' },
      { name: 'c.bin', data: big, binarySize: true },
    ]
    expect((await scan(tarFile(entries))).map(([name, size]) => [name, size])).toEqual([
      [long, 5],
      [long, 3],
      ['some/folder/b.jpg', 1],
      ['c.bin', 3000],
    ])
  })

  it('skips folders, links, devices and unknown types, whatever their size says', async () => {
    const entries: TarEntry[] = [
      { name: 'd/', type: '5', size: 0 },
      { name: 'old/', type: '\0' },
      { name: 'l', type: '2', size: 512 },
      { name: 'h', type: '1', size: 4096 },
      { name: 'u.txt', type: 'Z', data: big },
      { name: 'v.txt', type: '7', data: 'contiguous' },
      { name: 'w.txt', type: '\0', data: 'V7' },
    ]
    expect((await scan(tarFile(entries))).map(m => m[0])).toEqual(['v.txt', 'w.txt'])
  })

  it('jumps over large bodies and joins small pieces', async () => {
    const entries = Array.from({ length: 40 }, (_, i) => ({
      name: `${i}.bin`,
      data: Buffer.alloc(i * 30_000, 1),
    }))
    expect((await scan(tarFile(entries))).map(m => m[1])).toEqual(entries.map(e => e.data.length))
  })

  it('accepts a lone block of zeros at the end, and padding of any length', async () => {
    expect(await scan(tarFile([{ name: 'a.b' }], { end: 1, pad: false }))).toHaveLength(1)
    expect(await scan(Buffer.concat([tarFile([{ name: 'a.b' }]), Buffer.alloc(77)]))).toHaveLength(1)
    expect(await scan(tarFile([]))).toEqual([])
  })

  it('takes signed checksums', async () => {
    const tar = tarFile([{ name: 'é.b', data: 'x' }])
    let sum = 0
    for (let i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 32 : (tar[i] << 24) >> 24
    tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    expect(await scan(tar)).toEqual([['é.b', 1, 'x']])
  })
})

describe('damage', () => {
  const good = [
    { name: 'a.cls', data: '7' },
    { name: 'a.jpg', data: big },
  ]

  it('names the member in which the file ends', async () => {
    const error = await failure(tarFile(good).subarray(0, 2500))
    expect(error.offset).toBe(1024)
    expect(error.message).toContain('"a.jpg"')
    expect(error.message).toContain('x.tar')
  })

  it('names the place where the file ends within a header, or between two', async () => {
    expect((await failure(tarFile(good).subarray(0, 1100))).offset).toBe(1024)
    const cut = await failure(tarFile(good).subarray(0, 1024))
    expect(cut.message).toContain('end-of-archive')
    expect(cut.message).toContain('after member "a.cls"')
    expect((await failure(Buffer.alloc(0))).offset).toBe(0)
  })

  it('names a hole, however large', async () => {
    for (const blocks of [1, 2, 300]) {
      const tar = Buffer.concat([tarMember(good[0]), Buffer.alloc(512 * blocks), tarFile([good[1]])])
      const error = await failure(tar)
      expect(error.message).toContain('zeros from byte 1024')
      expect(error.offset).toBe(1024 + 512 * blocks)
    }
  })

  it('notices a changed header', async () => {
    const tar = tarFile(good)
    tar[1024 + 3] ^= 1
    const error = await failure(tar)
    expect(error.message).toContain('checksum')
    expect(error.offset).toBe(1024)
  })

  it('refuses sparse members, garbled PAX headers and absurd sizes', async () => {
    expect((await failure(tarFile([{ name: 's', type: 'S' }]))).message).toContain('sparse')
    const pax = (data: string) => tarFile([{ name: 'p', type: 'x', data }, { name: 'a.b' }])
    expect((await failure(pax(paxRecords({ 'GNU.sparse.major': '1' })))).message).toContain('sparse')
    expect((await failure(pax('99 path=x\n'))).message).toContain('garbled')
    expect((await failure(pax(paxRecords({ size: '-5' })))).message).toContain('size')
    const negative = tarMember({ name: 'n' })
    negative[124] = 0xff
    sealHeader(negative)
    expect((await failure(negative)).message).toContain('size')
    expect((await failure(tarFile([{ name: 'x', type: 'x', size: 2 ** 40 }]))).message).toContain(
      'ends at byte',
    )
  })

  it('says how to unpack a compressed archive', async () => {
    expect((await failure(Buffer.from('1f8b0800'.padEnd(1024, '0'), 'hex'))).message).toContain(
      'gunzip -k x.tar',
    )
    expect((await failure(Buffer.from('28b52ffd'.padEnd(1024, '0'), 'hex'))).message).toContain('unzstd')
    expect((await failure(Buffer.alloc(1024, 'text'))).message).toContain('not a tar header')
  })
})

describe('fuzz', () => {
  const name = fc.oneof(
    fc.stringMatching(/^[a-z./_]{1,20}$/),
    fc.constantFrom('a.jpg', 'a.cls', 'dir/b.json.gz', '__m__', '.x', 'd/.h.txt'),
  )
  const entry = fc.record({
    name,
    data: fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ minLength: 500, maxLength: 1600 })),
    type: fc.constantFrom('0', '0', '0', '5', 'x', 'g', 'L', 'K', 'S', '\0', '1'),
  })
  const change = fc.record({ at: fc.nat(), to: fc.nat(255), seal: fc.boolean() })

  it('ends with members inside the file or with a SourceError, whatever the bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 6 }),
        fc.array(change, { maxLength: 6 }),
        fc.nat(),
        async (entries, changes, cut) => {
          let tar = tarFile(entries, { pad: false })
          for (const { at, to, seal } of changes) {
            const place = at % tar.length
            tar[place] = to
            // A matching checksum lets the change through to the parts behind it.
            const block = Math.floor(place / 512) * 512
            if (seal) sealHeader(tar.subarray(block, block + 512))
          }
          if (cut % 3 === 0) tar = tar.subarray(0, cut % tar.length)
          let read = 0
          const columns = new SampleColumns('x.tar')
          const run = scanTar(
            async (into, position) => {
              read += into.length
              expect(into.length).toBeLessThanOrEqual(tar.length)
              return reader(tar)(into, position)
            },
            tar.length,
            'x.tar',
            columns,
          )
          const error = await run.then(
            () => undefined,
            e => e,
          )
          expect(error === undefined || error instanceof SourceError ? undefined : error).toBeUndefined()
          expect(read).toBeLessThanOrEqual(tar.length * 4 + 4096)
          if (error === undefined) expect(columns.finish().count).toBeLessThanOrEqual(tar.length / 512)
        },
      ),
    )
  })
})

describe('names', () => {
  it('splits as WebDataset does', () => {
    const split = (n: string) => {
      const parts = splitName(n)
      return parts && [parts.key, parts.extension]
    }
    expect(split('a/b.c.JPG')).toEqual(['a/b', 'c.jpg'])
    expect(split('./x/y.png')).toEqual(['./x/y', 'png'])
    expect(split('v1.2/y.png')).toEqual(['v1.2/y', 'png'])
    expect(split('x.')).toEqual(['x', ''])
    expect(split('README')).toBeUndefined()
    expect(split('__info__')).toBeUndefined()
    expect(split('__meta__/x.json')).toBeUndefined()
    expect(split('__x__.json')).toEqual(['__x__', 'json'])
    expect(split('.hidden')).toBeUndefined()
    expect(split('dir/.hid.txt')).toEqual(['dir/', 'hid.txt'])
    expect(split('a.b/.hid.txt')).toBeUndefined()
    expect(split('a.b/c/.x')).toEqual(['a.b/c/', 'x'])
    expect(split('./.x')).toBeUndefined()
  })

  it('agrees with the regular expression of WebDataset', () => {
    const pattern = /^((?:.*\/|)[^.]+)[.]([^/]*)$/
    fc.assert(
      fc.property(fc.stringMatching(/^[ab./]{0,12}$/), n => {
        const match = pattern.exec(n)
        const parts = splitName(n)
        expect(parts ? [parts.key, parts.extension] : undefined).toEqual(
          match ? [match[1], match[2]] : undefined,
        )
      }),
    )
  })
})
