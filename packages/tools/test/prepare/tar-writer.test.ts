import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runs } from '../../../../test/support/runs.js'
import { memberBytes, memberHeader, TarWriter } from '../../prepare/pack/tar-writer.js'

const python = (code: string, ...args: string[]) =>
  execFileSync('python3', ['-c', code, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 })
const hasPython = spawnSync('python3', ['-c', 'import tarfile']).status === 0
const hasWebdataset = hasPython && spawnSync('python3', ['-c', 'import webdataset']).status === 0
if (!hasPython) console.warn('python3 not found: the tar files are not read back by tarfile')
if (!hasWebdataset) console.warn('python3 has no webdataset: the tar files are not read back by it')

const LIST = `
import hashlib, json, sys, tarfile
print(json.dumps([[m.name, m.size, m.mode, m.mtime, m.uname, m.offset_data,
  hashlib.sha256(t.extractfile(m).read()).hexdigest()]
  for t in [tarfile.open(sys.argv[1])] for m in t.getmembers()]))
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tar-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const bytes = (n: number, seed = 1) => Uint8Array.from({ length: n }, (_, i) => (i * 31 + seed * 7) & 255)
const sha = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')

describe('a shard', () => {
  it('has no name before it is finished, and nothing stays of one that is given up', () => {
    const writer = new TarWriter(join(folder, 'a.tar'))
    writer.add('000', { jpg: bytes(6 << 20), cls: bytes(1) })
    expect(readdirSync(folder)).toEqual([])
    writer.discard()
    expect(readdirSync(folder)).toEqual([])
  })

  it('takes the place of an older file by rename', () => {
    const path = join(folder, 'a.tar')
    writeFileSync(path, 'old')
    const writer = new TarWriter(path)
    writer.add('0', { txt: bytes(3) })
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(writer.close()).toBe(readFileSync(path).byteLength)
    expect(readdirSync(folder)).toEqual(['a.tar'])
  })

  it('says where the data lie, and how many bytes a member takes', () => {
    const path = join(folder, 'a.tar')
    const writer = new TarWriter(path)
    const before = writer.bytes
    const places = writer.add('k', { jpg: bytes(700, 2), cls: bytes(1, 3) })
    expect(places.map(place => place.name)).toEqual(['k.cls', 'k.jpg'])
    expect(writer.bytes - before).toBe(memberBytes('k.cls', 1) + memberBytes('k.jpg', 700))
    const size = writer.close()
    const file = readFileSync(path)
    expect(size % 512).toBe(0)
    expect(file.subarray(places[1].offset, places[1].offset + 700)).toEqual(Buffer.from(bytes(700, 2)))
    expect(file.subarray(-1024).every(byte => byte === 0)).toBe(true)
  })

  it.skipIf(!hasPython)('is read back by Python’s tarfile, long and foreign names included', () => {
    const names = fc.oneof(
      fc.stringMatching(/^[a-z0-9_/-]{0,20}[a-z0-9]$/),
      fc.stringMatching(/^([a-z]{1,40}\/){1,8}[a-z]{1,90}$/),
      fc.stringMatching(/^[a-zäöü漢字]{1,120}$/),
    )
    const samples = fc.uniqueArray(fc.tuple(names, fc.integer({ min: 0, max: 1600 })), {
      minLength: 1,
      maxLength: 12,
      selector: ([key]) => key,
    })
    fc.assert(
      fc.property(samples, list => {
        const path = join(folder, 'p.tar')
        const writer = new TarWriter(path)
        const wanted = list.flatMap(([key, size], i) => {
          const members = { jpg: bytes(size, i), cls: bytes(1, i) }
          return writer
            .add(key, members)
            .map(place => [
              place.name,
              place.size,
              0o444,
              0,
              'millrace',
              place.offset,
              sha(place.name.endsWith('.jpg') ? members.jpg : members.cls),
            ])
        })
        writer.close()
        expect(JSON.parse(python(LIST, path))).toEqual(wanted)
      }),
      { numRuns: runs(25) },
    )
  })

  it.skipIf(!hasWebdataset)('is read by webdataset with the same keys and values', () => {
    const path = join(folder, 'w.tar')
    const writer = new TarWriter(path)
    for (let i = 0; i < 5; i++) writer.add(`00000${i}-x`, { jpg: bytes(900, i), cls: Buffer.from(String(i)) })
    writer.close()
    const read = `
import hashlib, json, sys, webdataset
print(json.dumps([[s['__key__'], hashlib.sha256(s['jpg']).hexdigest(), s['cls'].decode()]
  for s in webdataset.WebDataset(sys.argv[1], shardshuffle=False)]))
`
    const wanted = Array.from({ length: 5 }, (_, i) => [`00000${i}-x`, sha(bytes(900, i)), String(i)])
    expect(JSON.parse(python(read, path))).toEqual(wanted)
  })
})

it('tells sizes of 8 GiB and more in a PAX header', () => {
  const header = Buffer.from(memberHeader('big.bin', 9 * 2 ** 30))
  expect(header.byteLength).toBe(1536)
  expect(header.toString('latin1', 512, 532)).toBe('19 size=9663676416\n\0')
  expect(memberHeader('big.bin', 8 * 2 ** 30 - 1).byteLength).toBe(512)
})
