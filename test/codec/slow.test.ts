/** What is said where libraries of the system are missing. */
import { afterEach, expect, test, vi } from 'vitest'
import { codecFindings } from '../../src/cli/findings.js'
import { codecLibraries } from '../../src/codec/slow.js'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

test('a notice names the codecs that are slow, what that costs, and what to install', async () => {
  vi.resetModules()
  vi.stubEnv('MILLRACE_CODECS', 'node')
  const { slowCodecs } = await import('../../src/codec/slow.js')
  expect(slowCodecs(['shuffle', 'snappy'])).toBeUndefined()
  expect(slowCodecs([])).toBeUndefined()
  expect(slowCodecs(['gzip', 'zlib', 'shuffle'])).toBe(
    "libdeflate is not there for zlib and gzip, and Node's zlib takes about twice as long: " +
      'apt install libdeflate0, dnf install libdeflate or apk add libdeflate',
  )
  expect(slowCodecs(['lz4', 'gzip'])).toMatch(/^libdeflate .*; liblz4 is not there for lz4, /)
})

test('doctor names what is native, and remarks on what is missing', () => {
  const libraries = codecLibraries().map(library => ({ ...library, found: library.name !== 'liblz4' }))
  expect(codecFindings(libraries)).toEqual([
    {
      what: 'codecs',
      verdict: 'ok',
      is: 'libdeflate (deflate, zlib, gzip); libzstd (zstd); snappy, lzf, blosc, shuffles and CRC-32C by kernels of our own',
    },
    {
      what: 'codecs',
      verdict: 'warn',
      is: 'liblz4 (lz4, lz4-block) is missing, our own takes about 2.5 times as long',
      todo: 'apt install liblz4-1, dnf install lz4-libs or apk add lz4-libs',
    },
  ])
})
