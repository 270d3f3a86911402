/** What is said where libraries of the system are missing. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { codecs } from '../../../tools/cli/doctor/checks.js'
import { codecLibraries } from '../../codec/slow.js'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

test('a notice names the codecs that are slow, what that costs, and what to install', async () => {
  vi.resetModules()
  vi.stubEnv('MILLRACE_CODECS', 'node')
  const { slowCodecs } = await import('../../codec/slow.js')
  expect(slowCodecs(['shuffle', 'snappy'])).toBeUndefined()
  expect(slowCodecs([])).toBeUndefined()
  expect(slowCodecs(['gzip', 'zlib', 'shuffle'])).toBe(
    "libdeflate is not there for zlib and gzip, and Node's zlib takes about twice as long: " +
      'apt install libdeflate0, dnf install libdeflate or apk add libdeflate',
  )
  expect(slowCodecs(['lz4', 'gzip'])).toMatch(/^libdeflate .*; liblz4 is not there for lz4, /)
})

test('doctor names what is native, and what to install for the rest', () => {
  const libraries = codecLibraries().map(library => ({ ...library, found: library.name !== 'liblz4' }))
  expect(codecs(libraries)).toEqual({
    is: 'libdeflate (deflate, zlib, gzip); no liblz4 (lz4, lz4-block, lz4_raw): our own takes about 2.5 times as long; libzstd (zstd)',
    todo: 'apt install liblz4-1, dnf install lz4-libs or apk add lz4-libs',
  })
})

test('a feed of gzip data gives the notice once', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'x.zarr'))
  const meta = { zarr_format: 2, shape: [4], chunks: [4], dtype: '|u1', compressor: { id: 'gzip', level: 1 } }
  const rest = { fill_value: 0, order: 'C', filters: null }
  writeFileSync(join(folder, 'x.zarr/.zarray'), JSON.stringify({ ...meta, ...rest }))
  writeFileSync(join(folder, 'x.zarr/0'), gzipSync(Uint8Array.of(1, 2, 3, 4)))
  const feed = {
    source: { zarr: join(folder, 'x.zarr') },
    fields: { x: { from: 'data', as: 'int' as const } },
    batch: 2,
  }
  const noticesWith = async (codecs: string) => {
    vi.resetModules()
    vi.stubEnv('MILLRACE_CODECS', codecs)
    await import('../../../all/registry.js')
    const { normalizeFeed } = await import('../../define/normalize.js')
    const { planFeed } = await import('../../engine/plan/plan.js')
    const notices: string[] = []
    await planFeed(normalizeFeed(feed, folder), { notice: text => notices.push(text) })
    return notices
  }
  const without = await noticesWith('node')
  expect(without.filter(text => text.startsWith('libdeflate is not there for gzip'))).toHaveLength(1)
  if (codecLibraries().every(library => library.found)) expect(await noticesWith('')).toEqual([])
})
