/** What the system may say when a file is opened or read, and what we make of it. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { SourceError } from '../../basics/errors.js'
import { FileStore } from '../../store/file.js'

const system = vi.hoisted(() => ({ openFails: '', readFails: '', largestRead: Infinity }))

vi.mock('node:fs', async original => {
  const fs = await original<typeof import('node:fs')>()
  const fail = (code: string) => {
    if (code) throw Object.assign(new Error(`${code}: the system's own words`), { code })
  }
  return {
    ...fs,
    openSync: (...args: Parameters<typeof fs.openSync>) => {
      fail(system.openFails)
      return fs.openSync(...args)
    },
    readSync: (fd: number, into: Uint8Array, at: number, length: number, position: number) => {
      fail(system.readFails)
      return fs.readSync(fd, into, at, Math.min(length, system.largestRead), position)
    },
  }
})

// The registry of formats, which is there before, has loaded these modules with the file system as it is.
vi.hoisted(() => vi.resetModules())

beforeEach(() => {
  Object.assign(system, { openFails: '', readFails: '', largestRead: Infinity })
})

describe('a file', () => {
  const self = import.meta.filename

  it.each([
    ['ENOENT', /no such file: check the path/],
    ['EACCES', /not permitted.*permissions/],
    ['EMFILE', /too many open files.*ulimit -n.*fewer workers/],
    ['ENFILE', /machine has too many open files/],
    ['EBUSY', /EBUSY: the system's own words.*check that the file can be read/],
  ])('that can not be opened (%s) is named, with what to do', (code, message) => {
    system.openFails = code
    const store = new FileStore()
    const read = () => store.readNow('shards/07.tar', 512, new Uint8Array(10))
    expect(read).toThrow(message)
    expect(read).toThrow(/^shards\/07\.tar: can't read at offset 512: /)
  })

  it.each([
    ['EIO', /disk reports an error/],
    ['EISDIR', /a folder, not a file/],
    ['ESTALE', /replaced on the network/],
  ])('that can not be read (%s) is named, and keeps the cause', (code, message) => {
    const store = new FileStore()
    system.readFails = code
    const read = () => store.readNow(self, 3, new Uint8Array(1))
    expect(read).toThrow(SourceError)
    expect(read).toThrow(
      expect.objectContaining({ file: self, offset: 3, message: expect.stringMatching(message) }),
    )
    expect(read).toThrow(expect.objectContaining({ cause: expect.objectContaining({ code }) }))
    store.close()
  })

  it('that comes in short reads is put together', () => {
    using store = new FileStore()
    const whole = new Uint8Array(500)
    store.readNow(self, 0, whole)
    system.largestRead = 7
    const pieces = new Uint8Array(500)
    store.readNow(self, 0, pieces)
    expect(pieces).toEqual(whole)
    const size = store.statNow(self).bytes
    expect(() => store.readNow(self, size - 20, new Uint8Array(30))).toThrow(/wanted 30 .* got 20/)
  })
})
