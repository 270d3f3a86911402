/** What every store must do, and what files do besides. */
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
import { SourceError } from '../../src/basics/errors.js'
import { FileStore } from '../../src/store/file.js'
import type { Store } from '../../src/store/store.js'
import { filesAWorker } from '../../src/system/process/limits.js'

/** Files that a thread keeps open here. */
const MOST = filesAWorker()

const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => (i * 31 + (i >> 8)) & 255)
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-store-'))
  writeFileSync(join(folder, 'data.bin'), bytes)
  writeFileSync(join(folder, 'empty.bin'), '')
})
afterAll(() => rmSync(folder, { recursive: true }))

const kinds: { kind: string; make(): { store: Store; name(object: string): string } }[] = [
  {
    kind: 'file',
    make: () => ({ store: new FileStore(), name: object => join(folder, object) }),
  },
]

describe.each(kinds)('the $kind store', ({ make }) => {
  it('tells sizes', () => {
    const { store, name } = make()
    expect(store.sizeSync(name('data.bin'))).toBe(10_000)
    expect(store.sizeSync(name('empty.bin'))).toBe(0)
    store.close()
  })

  it('fills exactly the memory it is given', () => {
    const { store, name } = make()
    const whole = new Uint8Array(300).fill(7)
    store.readSync(name('data.bin'), 1234, whole.subarray(100, 200))
    expect(whole.subarray(100, 200)).toEqual(bytes.subarray(1234, 1334))
    expect([...whole.subarray(0, 100), ...whole.subarray(200)].every(b => b === 7)).toBe(true)
    store.readSync(name('data.bin'), 9_990, whole.subarray(0, 10))
    expect(whole.subarray(0, 10)).toEqual(bytes.subarray(9_990))
    store.close()
  })

  it('reads into shared memory', () => {
    const { store, name } = make()
    const shared = new Uint8Array(new SharedArrayBuffer(4096), 64, 1000)
    store.readSync(name('data.bin'), 5000, shared)
    expect(Buffer.from(shared).equals(bytes.subarray(5000, 6000))).toBe(true)
    store.close()
  })

  it('reads nothing at the very end, and refuses to read past it, with the numbers', () => {
    const { store, name } = make()
    store.readSync(name('data.bin'), 10_000, new Uint8Array(0))
    const read = () => store.readSync(name('data.bin'), 9_900, new Uint8Array(300))
    expect(read).toThrow(SourceError)
    expect(read).toThrow(
      /data\.bin: wanted 300 bytes at offset 9900, got 100: .* shorter .*copy or write it again/,
    )
    const beyond = () => store.readSync(name('data.bin'), 20_000, new Uint8Array(1))
    expect(beyond).toThrow(expect.objectContaining({ file: name('data.bin'), offset: 20_000 }))
    store.close()
  })

  it('names what does not exist', () => {
    const { store, name } = make()
    expect(() => store.sizeSync(name('absent'))).toThrow(/absent: .*no such/)
    expect(() => store.sizeSync(name('absent'))).toThrow(SourceError)
    store.close()
  })

  it('goes on after close', () => {
    const { store, name } = make()
    store.close()
    expect(store.sizeSync(name('data.bin'))).toBe(10_000)
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
    const read = (path: string): void => store.readSync(path, 0, one)
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
    for (const path of paths) for (const store of [a, b]) store.readSync(path, 0, one)
    expect(openNow()).toHaveLength(MOST)
    a.close()
    expect(openNow()).toHaveLength(MOST)
    b.close()
    expect(openNow()).toEqual([])
  })

  it('that were replaced are opened anew for a store that begins', () => {
    const { paths, openNow } = files(2, 'replaced')
    const [early, late] = [new FileStore(), new FileStore()]
    early.readSync(paths[0], 0, one)
    writeFileSync(paths[1], 'new')
    renameSync(paths[1], paths[0])
    late.readSync(paths[0], 0, one)
    expect(String.fromCharCode(one[0])).toBe('n')
    expect(openNow()).toEqual([paths[0]])
    early.close()
    late.close()
  })

  it('that were replaced or deleted stay those of a store that reads them, also when another one begins', () => {
    const { paths } = files(2, 'kept')
    const [early, late, later] = [new FileStore(), new FileStore(), new FileStore()]
    const size = (store: FileStore): number => store.sizeSync(paths[0])
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

  it('that were cut after the index was made say so', () => {
    const path = join(folder, 'cut')
    writeFileSync(path, bytes)
    const store = new FileStore()
    store.readSync(path, 9_000, new Uint8Array(1000))
    truncateSync(path, 9_500)
    expect(() => store.readSync(path, 9_000, new Uint8Array(1000))).toThrow(/wanted 1000 .* got 500/)
    store.close()
  })

  it('that are folders say so', () => {
    const path = join(folder, 'sub')
    mkdirSync(path)
    const store = new FileStore()
    expect(() => store.sizeSync(path)).toThrow(/sub: .*folder, not a file/)
    expect(() => store.readSync(path, 0, new Uint8Array(1))).toThrow(/sub: .*folder, not a file/)
    expect(() => store.sizeSync(join(folder, 'data.bin', 'x'))).toThrow(/part of the path is a file/)
    store.close()
  })

  it.skipIf(process.getuid?.() === 0)('that may not be read say so', () => {
    const path = join(folder, 'secret')
    writeFileSync(path, 'x')
    chmodSync(path, 0)
    expect(() => new FileStore().sizeSync(path)).toThrow(/secret: .*permissions/)
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
