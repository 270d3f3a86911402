/** What every store must do, and what files do besides. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { retried, SlowStore } from '../../../../test/support/slow-store.mjs'
import { until } from '../../../../test/support/until.js'
import { ChangedError, SourceError } from '../../basics/errors.js'
import { readRange, statOf } from '../../store/access.js'
import { FileStore } from '../../store/file.js'
import { isMissing, type Store, type Version } from '../../store/store.js'
import { filesAWorker } from '../../system/process/limits.js'

/** Files that a thread keeps open here. */
const MOST = filesAWorker()

const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => (i * 31 + (i >> 8)) & 255)
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-store-'))
  writeFileSync(join(folder, 'data.bin'), bytes)
  writeFileSync(join(folder, 'empty.bin'), '')
  mkdirSync(join(folder, 'listed/a/deep'), { recursive: true })
  for (const name of ['a/1', 'a/deep/2', 'ab']) writeFileSync(join(folder, 'listed', name), name)
})
afterAll(() => rmSync(folder, { recursive: true }))

const kinds: { kind: string; make(): { store: Store; name(object: string): string } }[] = [
  {
    kind: 'file',
    make: () => ({ store: new FileStore(), name: object => join(folder, object) }),
  },
  {
    kind: 'slow',
    make: () => ({
      store: retried(new SlowStore({ folder, latency: 2, errors: 0.1 }), 100),
      name: object => `slow://${object}`,
    }),
  },
]

/** The two ways to read: at once, where there is one, and by a promise. */
function reads(store: Store) {
  type Read = (name: string, offset: number, into: Uint8Array, was?: Version) => Promise<void>
  const far: Read = (file, offset, into, was) =>
    readRange({ of: () => store }, { file, offset, length: into.length, was }, into)
  const near: Read = async (name, offset, into, was) => {
    expect(store.readNow?.(name, offset, into, was)).toBe(true)
  }
  return store.readNow === undefined ? [far] : [near, far]
}

describe.each(kinds)('the $kind store', ({ make }) => {
  it('tells sizes and versions', async () => {
    const { store, name } = make()
    const stat = await store.stat(name('data.bin'))
    expect(stat.bytes).toBe(10_000)
    expect((await store.stat(name('empty.bin'))).bytes).toBe(0)
    expect(store.statNow?.(name('data.bin')) ?? stat).toEqual(stat)
    store.close()
  })

  it('lists what begins with a prefix, at any depth', async () => {
    const { store, name } = make()
    if (store.list === undefined) return
    const listed = async (prefix: string): Promise<string[]> => {
      const names: string[] = []
      for await (const { name: found, bytes, version } of store.list!(prefix)) {
        expect({ bytes, version }).toEqual(await store.stat(found))
        names.push(found)
      }
      return names.sort()
    }
    const below = ['listed/a/1', 'listed/a/deep/2', 'listed/ab'].map(name)
    expect(await listed(name('listed/'))).toEqual(below)
    expect(await listed(name('listed/a'))).toEqual(below)
    expect(await listed(name('listed/a/'))).toEqual(below.slice(0, 2))
    expect(await listed(name('absent/'))).toEqual([])
    store.close()
  })

  it('fills exactly the memory it is given', async () => {
    const { store, name } = make()
    for (const read of reads(store)) {
      const whole = new Uint8Array(300).fill(7)
      await read(name('data.bin'), 1234, whole.subarray(100, 200))
      expect(whole.subarray(100, 200)).toEqual(bytes.subarray(1234, 1334))
      expect([...whole.subarray(0, 100), ...whole.subarray(200)].every(b => b === 7)).toBe(true)
      await read(name('data.bin'), 9_990, whole.subarray(0, 10))
      expect(whole.subarray(0, 10)).toEqual(bytes.subarray(9_990))
    }
    store.close()
  })

  it('reads into shared memory', async () => {
    const { store, name } = make()
    for (const read of reads(store)) {
      const shared = new Uint8Array(new SharedArrayBuffer(4096), 64, 1000)
      await read(name('data.bin'), 5000, shared)
      expect(Buffer.from(shared).equals(bytes.subarray(5000, 6000))).toBe(true)
    }
    store.close()
  })

  it('reads nothing at the very end, and refuses to read past it, with the numbers', async () => {
    const { store, name } = make()
    for (const read of reads(store)) {
      await read(name('data.bin'), 10_000, new Uint8Array(0))
      const past = read(name('data.bin'), 9_900, new Uint8Array(300))
      await expect(past).rejects.toThrow(SourceError)
      await expect(past).rejects.toThrow(
        store instanceof FileStore
          ? /data\.bin: wanted 300 bytes at offset 9900, got 100: .* shorter .*copy or write it again/
          : /data\.bin: can't read 300 bytes at offset 9900: it ends at byte 10000/,
      )
      const beyond = read(name('data.bin'), 20_000, new Uint8Array(1))
      await expect(beyond).rejects.toMatchObject({ file: name('data.bin'), offset: 20_000 })
    }
    store.close()
  })

  it('names what does not exist, with the code ENOENT', async () => {
    const { store, name } = make()
    const absent = (async () => statOf({ of: () => store }, name('absent')))()
    await expect(absent).rejects.toThrow(/absent: .*no such/)
    expect(isMissing(await absent.catch(error => error))).toBe(true)
    store.close()
  })

  it('refuses an object that is not the one that was indexed', async () => {
    const { store, name } = make()
    const { version } = await store.stat(name('data.bin'))
    const other = (await store.stat(name('empty.bin'))).version
    for (const read of reads(store)) {
      await read(name('data.bin'), 0, new Uint8Array(10), version)
      const changed = read(name('data.bin'), 0, new Uint8Array(10), other)
      const error: unknown = await changed.catch(error => error)
      expect(error).toBeInstanceOf(ChangedError)
    }
    store.close()
  })

  it('goes on after close', async () => {
    const { store, name } = make()
    store.close()
    expect((await store.stat(name('data.bin'))).bytes).toBe(10_000)
    store.close()
  })
})

describe('files', () => {
  const one = new Uint8Array(1)

  /** Files, and which of them are open now. */
  function files(count: number, prefix: string) {
    const paths = Array.from({ length: count }, (_, i) => join(folder, `${prefix}${i}`))
    for (const path of paths) writeFileSync(path, path)
    const openNow = (): string[] => openPaths().filter(path => paths.includes(path))
    return { paths, openNow }
  }

  it('stay open, never more than a worker may have, the least recently used closed first', () => {
    const { paths, openNow } = files(MOST + 8, 'many')
    const store = new FileStore({ access: 'random' })
    const read = (path: string): boolean => store.readNow(path, 0, one)
    const [first, second, ...others] = paths
    for (const path of [first, second, ...others.slice(0, MOST - 2)]) read(path)
    expect(openNow()).toHaveLength(MOST)
    read(first)
    read(others.at(-1)!)
    expect(openNow()).toHaveLength(MOST)
    expect(openNow()).toContain(first)
    expect(openNow()).not.toContain(second)
    for (let i = 0; i < 200; i++) read(paths[(i * 7) % paths.length])
    expect(openNow()).toHaveLength(MOST)
    store[Symbol.dispose]()
    expect(openNow()).toEqual([])
  })

  it('are shared by the stores of a thread, which together keep to that number', () => {
    const { paths, openNow } = files(MOST, 'shared')
    const [a, b] = [new FileStore(), new FileStore({ access: 'sequential' })]
    for (const path of paths) for (const store of [a, b]) store.readNow(path, 0, one)
    expect(openNow()).toHaveLength(MOST)
    a.close()
    expect(openNow()).toHaveLength(MOST)
    b.close()
    expect(openNow()).toEqual([])
  })

  it('that were replaced are opened anew for a store that begins', () => {
    const { paths, openNow } = files(2, 'replaced')
    const [early, late] = [new FileStore(), new FileStore()]
    early.readNow(paths[0], 0, one)
    writeFileSync(paths[1], 'new')
    renameSync(paths[1], paths[0])
    late.readNow(paths[0], 0, one)
    expect(String.fromCharCode(one[0])).toBe('n')
    expect(openNow()).toEqual([paths[0]])
    early.close()
    late.close()
  })

  it('that were replaced or deleted stay those of a store that reads them, also when another one begins', () => {
    const { paths } = files(2, 'kept')
    const [early, late, later] = [new FileStore(), new FileStore(), new FileStore()]
    const size = (store: FileStore): number => {
      store.readNow(paths[0], 0, one)
      return store.statNow(paths[0]).bytes
    }
    const before = size(early)
    writeFileSync(paths[1], 'new')
    renameSync(paths[1], paths[0])
    expect([size(late), size(early)]).toEqual([3, before])
    rmSync(paths[0])
    expect(() => size(later)).toThrow('there is no such file')
    expect([size(late), size(early)]).toEqual([3, before])
    const open = () => openPaths().filter(path => path.startsWith(paths[0]))
    expect(open()).toHaveLength(2)
    for (const store of [early, late, later]) store.close()
    expect(open()).toEqual([])
  })

  it('stay open while a read is in flight, though others push them out or the store is closed', async () => {
    const { paths, openNow } = files(MOST + 1, 'flight')
    const store = new FileStore()
    const into = new Uint8Array(paths[0].length)
    const pushedOut = store.read(paths[0], 0, into)
    for (const path of paths.slice(1)) store.readNow(path, 0, one)
    await pushedOut
    expect(Buffer.from(into).toString()).toBe(paths[0])
    expect(openNow()).not.toContain(paths[0])
    const closed = store.read(paths[1], 0, into)
    store.close()
    await closed
    expect(Buffer.from(into).toString()).toBe(paths[1])
    expect(openNow()).toEqual([])
  })

  it('are fetched into the page cache by a hint, whole, in pieces that the kernel does not cut', async () => {
    const path = join(folder, 'hinted')
    const pages = 2048 // 8 MiB: far more than one read-ahead
    writeFileSync(path, Buffer.alloc(pages * 4096, 1))
    const inCache = (): number =>
      Number(execFileSync('fincore', ['-n', '-o', 'PAGES', path], { encoding: 'utf8' }))
    execFileSync('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], {
      stdio: 'ignore',
    })
    const before = inCache()
    using store = new FileStore()
    store.hint({ file: path, offset: 0, length: pages * 4096 })
    expect(before).toBe(0)
    await until(() => inCache() === pages)
    store.hint({ file: join(folder, 'absent'), offset: 0, length: 1 })
  })

  it('that were cut after the index was made say so', () => {
    const path = join(folder, 'cut')
    writeFileSync(path, bytes)
    const store = new FileStore()
    store.readNow(path, 9_000, new Uint8Array(1000))
    truncateSync(path, 9_500)
    expect(() => store.readNow(path, 9_000, new Uint8Array(1000))).toThrow(/wanted 1000 .* got 500/)
    store.close()
  })

  it('that are folders say so', () => {
    const path = join(folder, 'sub')
    mkdirSync(path)
    const store = new FileStore()
    expect(() => store.statNow(path)).toThrow(/sub: .*folder, not a file/)
    expect(() => store.readNow(path, 0, new Uint8Array(1))).toThrow(/sub: .*folder, not a file/)
    expect(() => store.statNow(join(folder, 'data.bin', 'x'))).toThrow(/part of the path is a file/)
    store.close()
  })

  it.skipIf(process.getuid?.() === 0)('that may not be read say so', () => {
    const path = join(folder, 'secret')
    writeFileSync(path, 'x')
    chmodSync(path, 0)
    expect(() => new FileStore().readNow(path, 0, one)).toThrow(/secret: .*permissions/)
  })
})

function openPaths(): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return [] // the descriptor of the listing itself
    }
  })
}
