/** Which store serves a name. */
import { describe, expect, it } from 'vitest'
import { SourceError } from '../../basics/errors.js'
import { listOf, readRange, statOf } from '../../store/access.js'
import { FileStore } from '../../store/file.js'
import type { Store, StoreKind } from '../../store/store.js'
import { addStore, Stores, schemeOf } from '../../store/stores.js'

/** A store that does nothing but count how often it is made and closed. */
class Counted implements Store {
  static made = 0
  closed = 0
  readonly merge = { gap: 0, most: 1 }
  constructor() {
    Counted.made++
  }
  async stat() {
    return { bytes: 0, version: '' }
  }
  async read() {}
  close() {
    this.closed++
  }
}

const counted: StoreKind = { attach: () => new Counted() }

describe('the scheme of a name', () => {
  it.each([
    ['s3://bucket/key', 's3'],
    ['web+x.y-1://a', 'web+x.y-1'],
    ['/data/s3://odd', undefined],
    ['data/a:b.tar', undefined],
    ['a:b', undefined],
    ['C://drive', undefined],
    ['C:\\drive', undefined],
    ['S3://upper', undefined],
    ['', undefined],
  ])('of %j is %j', (name, scheme) => {
    expect(schemeOf(name)).toBe(scheme)
  })
})

describe('Stores', () => {
  it('make a store of a scheme when it is first asked for, one for each of them', () => {
    addStore('counted', counted)
    const [a, b] = [new Stores(), new Stores()]
    expect(Counted.made).toBe(0)
    const store = a.of('counted://x')
    expect(a.of('counted://y')).toBe(store)
    expect(b.of('counted://x')).not.toBe(store)
    expect(Counted.made).toBe(2)
    a.close()
    expect([store, b.of('counted://x')].map(one => (one as Counted).closed)).toEqual([1, 0])
  })

  const whole = { stat() {}, read() {}, close() {}, merge: { gap: 0, most: 1 } }
  it.each([
    ['none', undefined, 'is no store'],
    ['no-stat', { ...whole, stat: undefined }, 'has no function stat'],
    ['no-read', { ...whole, read: undefined }, 'has no function read'],
    ['no-close', { ...whole, close: undefined }, 'has no function close'],
    ['no-merge', { ...whole, merge: undefined }, 'has no merge: { gap, most }'],
  ])('say what a store lacks: %s', (scheme, store, lack) => {
    addStore(scheme, { attach: () => store as unknown as Store })
    const stores = new Stores()
    expect(() => stores.of(`${scheme}://x`)).toThrow(
      `the store for ${scheme}://: what attach returned ${lack}`,
    )
    stores.close()
  })

  it('say that a list or a size is not what it should be', async () => {
    const stat = async () => undefined
    const list = async () => []
    addStore('odd', { attach: () => ({ ...whole, stat, list }) as unknown as Store })
    const stores = new Stores()
    await expect(statOf(stores, 'odd://x')).rejects.toThrow(/odd:\/\/x: .*\{ bytes, version \}/)
    await expect(listOf(stores, 'odd://').next()).rejects.toThrow(/write async \*list\(prefix\)/)
  })

  it('name the object, whatever a store throws, at once or later', async () => {
    const thrown = [
      () => Promise.reject('no'),
      () => Promise.reject(),
      () => {
        throw new Error('no')
      },
    ]
    for (const [i, fails] of thrown.entries()) {
      addStore(`fails-${i}`, { attach: () => ({ ...whole, stat: fails, read: fails }) as unknown as Store })
      const stores = new Stores()
      const file = `fails-${i}://x`
      const reported = i === 1 ? 'undefined' : 'no'
      await expect((async () => statOf(stores, file))()).rejects.toThrow(
        `${file}: can't look at it: ${reported}`,
      )
      await expect(readRange(stores, { file, offset: 1, length: 2 }, new Uint8Array(2))).rejects.toThrow(
        `${file}: can't read 2 bytes at offset 1: ${reported}`,
      )
    }
  })

  it('tell reads that are under way when they are closed, and begin no others', async () => {
    let asked = 0
    const read: Store['read'] = (_name, _offset, _into, { signal }) =>
      new Promise((_resolve, reject) => {
        asked++
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    addStore('slow-read', { attach: () => ({ ...whole, read }) as unknown as Store })
    const stores = new Stores()
    const range = { file: 'slow-read://x', offset: 1, length: 2 }
    const reading = readRange(stores, range, new Uint8Array(2))
    stores.close()
    await expect(reading).rejects.toThrow(/abort/)
    await expect(readRange(stores, range, new Uint8Array(2))).rejects.toThrow(/abort/)
    expect(asked).toBe(1)
  })

  it('serve paths by local files', () => {
    expect(new Stores().of('/data/x')).toBeInstanceOf(FileStore)
    expect(new Stores().of('data/a:b')).toBeInstanceOf(FileStore)
  })

  it('say which stores there are where there is none for a scheme', () => {
    addStore('counted', counted)
    const of = () => new Stores().of('s3://bucket/0.tar')
    expect(of).toThrow(SourceError)
    expect(of).toThrow(
      /^s3:\/\/bucket\/0\.tar: there is no store for s3:\/\/\. There are: local files, .*\bcounted:\/\/.*--plugin URL on the command line/,
    )
  })

  it('take one store for a scheme, and no scheme that a path may have', () => {
    addStore('counted', counted)
    expect(() => addStore('counted', { attach: () => new Counted() })).toThrow(/two stores for counted:/)
    for (const scheme of ['c', 'file', 'S3', 'a/b', ''])
      expect(() => addStore(scheme, counted)).toThrow(/can't be the scheme/)
  })
})
