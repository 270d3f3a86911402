/** Damaged token files: refused by name, or what is read of them is within the file. Nothing crashes, memory stays bounded. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { verifyTokens } from '../../prepare/tokens/verify/verify.js'
import { attachDocuments, documentLengths, openDocuments } from '../../tokens/formats/documents.js'
import type { TokenFileOptions } from '../../tokens/formats/found.js'
import { openTokenFiles } from '../../tokens/formats/open.js'

const golden = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, '../../../../test/golden/tokens', name))
process.env.MILLRACE_CACHE = temporaryFolder()
const root = temporaryFolder()
/** Tokens are read in pieces of a million: 8 MiB of i64. */
const MOST = 24 << 20
let written = 0

/** Long ago: a file that was just written is waited for. */
function write(name: string, bytes: Uint8Array): void {
  writeFileSync(join(root, name), bytes)
  utimesSync(join(root, name), 1e9, 1e9)
}

/** Opens a file and goes through its documents. */
async function read(path: string, options: TokenFileOptions & { eod?: number } = {}): Promise<void> {
  const { eod, ...rest } = options
  const context = { root, wanted: [] }
  const files = await openTokenFiles(path, rest, context)
  const opened = await openDocuments(files, { eod }, context)
  const [documents] = attachDocuments(opened)
  const [{ tokens }] = files
  for (let i = 0; i < Math.min(documents.count, 50); i++) {
    expect(documents.start(i)).toBeGreaterThanOrEqual(0)
    expect(documents.end(i)).toBeGreaterThanOrEqual(documents.start(i))
    expect(documents.end(i)).toBeLessThanOrEqual(tokens)
  }
  if (documents.count > 0) documents.find(Math.floor(tokens / 2))
  expect(await documentLengths(opened)).toHaveLength(documents.count)
}

it.each(['u16', 'multi', 'modes', 'i64'])('a damaged .idx: %s', async name => {
  await survives(
    golden(`${name}.idx`),
    async bytes => {
      const stem = `x${written++}`
      write(`${stem}.bin`, golden(`${name}.bin`))
      write(`${stem}.idx`, bytes)
      await read(stem)
    },
    { most: MOST, says: /x\d+\.(idx|bin)/ },
  )
})

it('verify tells what is wrong with a damaged .idx, or that nothing is', async () => {
  const right = golden('u16.idx')
  const entries = 34 + 12 * 300
  await survives(
    right,
    async bytes => {
      const stem = `v${written++}`
      write(`${stem}.bin`, golden('u16.bin'))
      write(`${stem}.idx`, bytes)
      const [file] = await openTokenFiles(stem, { unchecked: true }, { root })
      const { problems } = await verifyTokens(file, {})
      // Other document indices may be as good; lengths and pointers are not.
      if (!right.subarray(0, entries).equals(bytes.subarray(0, entries))) expect(problems).not.toEqual([])
    },
    { most: MOST },
  )
})

it.each([
  ['llmc-u16.bin', { format: 'llmc' as const, eod: 50256 }],
  ['llmc-u32.bin', { format: 'llmc' as const, eod: 128000 }],
  ['array-u16.npy', { format: 'npy' as const, eod: 50256 }],
  ['array-i64.npy', { format: 'npy' as const, eod: 50256 }],
  ['nanogpt.bin', { format: 'nanogpt' as const, eod: 50256 }],
])('a damaged file: %s', async (name, options) => {
  await survives(
    golden(name),
    async bytes => {
      const own = `x${written++}${name.slice(-4)}`
      write(own, bytes)
      await read(own, options)
    },
    { most: MOST, runs: 60, says: /x\d+\./ },
  )
})

it.each([
  ['as it is', (bytes: Uint8Array) => bytes, golden('olmo.csv.gz')],
  ['in lines that are packed well', gzipSync, gunzipSync(golden('olmo.csv.gz'))],
])('a damaged .csv.gz: %s', async (_, pack, bytes) => {
  await survives(
    bytes,
    async bytes => {
      const stem = `x${written++}`
      write(`${stem}.npy`, golden('olmo.npy'))
      write(`${stem}.csv.gz`, pack(bytes))
      await read(`${stem}.npy`, { dtype: 'u32' })
    },
    { most: MOST, runs: 60, says: /x\d+\.csv\.gz/ },
  )
})
