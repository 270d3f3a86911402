/** Which bytes are absent from the page cache. A hole of a file is absent until it is read: no page has to be dropped. */
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AbsentPages, absentShare } from '../../../system/files/absent.js'
import { fileSystem } from '../../../system/files/file-system.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-absent-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Half a MiB of bytes, which stay in the page cache, and a hole of the same length. */
function half(name = 'half'): string {
  const path = join(folder, name)
  writeFileSync(path, Buffer.alloc(1 << 19, 1))
  truncateSync(path, 1 << 20)
  return path
}

describe.runIf(process.platform === 'linux')('absent pages', () => {
  test('what was written is there, a hole is not until it is read', () => {
    const path = half()
    using file = AbsentPages.open(path)
    expect(file?.share(0, 1 << 19)).toBe(0)
    expect(file?.share(100, 5000)).toBe(0)
    expect(file?.share(1 << 19, 1 << 19)).toBe(1)
    expect(file?.share(0, 1 << 20)).toBe(0.5)
    readFileSync(path)
    expect(file?.share(1 << 19, 1 << 19)).toBe(0)
  })

  test('asked for one by one, a page that is there is never called absent', () => {
    const path = half()
    const fd = openSync(path, 'r+')
    writeSync(fd, Buffer.alloc(1 << 19, 1), 0, 1 << 19, 1 << 19)
    fsyncSync(fd)
    // Pages of this file alone, which the test has made. (tmpfs keeps them.)
    const fadvise = koffi
      .load(null)
      .func('int posix_fadvise(int fd, int64_t offset, int64_t length, int advice)')
    fadvise(fd, 1 << 19, 1 << 19, 4)
    closeSync(fd)
    using counted = AbsentPages.open(path)
    using asked = AbsentPages.open(path, false)
    const absent = counted?.share(1 << 19, 1 << 19)
    // A page that the kernel begins to read may have come before it is looked at: then it is there.
    const share = asked?.share(1 << 19, 1 << 19) ?? Number.NaN
    expect([0, 0.25, 0.5, 0.75, 1]).toContain(share)
    expect(share).toBeLessThanOrEqual(absent as number)
    expect(asked?.share(0, 1 << 19)).toBe(0)
    expect(asked?.share(0, 100)).toBe(0)
  })

  test('counting reads nothing in', () => {
    using file = AbsentPages.open(half())
    const shares = [1, 2, 3].map(() => file?.share(0, 1 << 20))
    expect(shares).toEqual([0.5, 0.5, 0.5])
  })

  test('ranges of several files weigh by their bytes; those that can not be asked are left out', () => {
    const ranges = [
      { path: half('a'), offset: 0, bytes: 1 << 19 },
      { path: half('b'), offset: 3 << 18, bytes: 1 << 18 },
      { path: join(folder, 'missing'), offset: 0, bytes: 1 << 20 },
      { path: join(folder, 'a'), offset: 1 << 20, bytes: 10 },
    ]
    expect(absentShare(ranges)).toEqual({ share: 1 / 3, ranges: 2 })
    expect(absentShare(ranges.slice(2))).toBeNull()
  })
})

test('file systems have names', () => {
  expect(fileSystem('/proc').name).toBe('0x9fa0')
  expect(fileSystem(folder).name).toMatch(/^[a-z0-9]+$/)
})
