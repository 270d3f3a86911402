/** Damaged metadata, shard indexes and chunks: each is refused by an error that names the file, or read as what it says. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { SourceError } from '../../../core/basics/errors.js'
import { RowReader } from '../../../core/source/row-reader.js'
import type { Leaf } from '../../../core/source/source.js'
import { Reader } from '../../../core/store/reader.js'
import { Stores } from '../../../core/store/stores.js'
import { golden, openZarr, writeStore } from './stores.js'

const home = temporaryFolder()
/** Tables of all chunks are 128 MiB at most: 2²⁴ numbers. */
const MOST = 128 << 20
/** A chunk may say that it is larger. Whether there is room for it is the cache's affair. */
const READ = 16 << 20
const SAYS = /\.zarr/

const CASES: [store: string, file: string][] = [
  ['v3 blosc zstd shuffle', 'zarr.json'],
  ['v3 shards in shards', 'zarr.json'],
  ['v3 group, consolidated True', 'zarr.json'],
  ['v2 fill NaN auto', '.zarray'],
  ['v2 delta shuffle True', '.zarray'],
  ['v2 group, consolidated True', '.zmetadata'],
  ['v3 shards start None', 'c/0/0'],
  ['v3 shards end auto', 'c/0/0'],
  ['v3 shards, big-endian', 'c/1/0'],
  ['v3 shards in shards', 'c/0/0'],
  ['v3 zstd, then crc32c', 'c/0/0'],
  ['v2 blosc lz4 1', '1.0'],
  ['v2 U4', '0'],
  ['v2 adler32 True', '0.0'],
  ['v2 texts None', '0'],
  ['v2 texts blosc', '1'],
  ['v3 texts auto', 'c/0'],
  ['v3 texts in shards', 'c/0'],
  ['v3 archive', 'a.zarr.zip'],
]

/** Opens a store and reads its first rows. */
async function read(folder: string): Promise<void> {
  const source = await openZarr(folder)
  using stores = new Stores()
  const rows = new RowReader(source, new Reader(stores))
  const tooLarge = (leaf: Leaf): boolean =>
    leaf.unitStarts.subarray(0, 64).some((_, unit) => leaf.unitBytes(unit, leaf.columns) > READ)
  if (source.leaves?.some(tooLarge)) return
  for (let row = 0; row < Math.min(source.count, 16); row++) await rows.read(row, source.columns)
}

it.each(CASES)('%s, damaged %s', { timeout: 120_000 }, async (name, file) => {
  const folder = join(home, `${name} ${file.replaceAll('/', '-')}.zarr`)
  writeStore(golden(name), folder)
  const path = join(folder, file)
  const right = readFileSync(path)
  const attempt = async (bytes: Uint8Array): Promise<void> => {
    writeFileSync(path, bytes)
    await read(file.endsWith('.zip') ? path : folder)
  }
  await survives(right, attempt, { most: MOST, says: SAYS })
})

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    2 ** 31,
    2 ** 53,
    '',
    'x',
    '0x7f',
    '9'.repeat(30),
    [],
    {},
    [[]],
    [-1],
    [0],
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Every value within JSON, by the keys that lead to it. */
function placesIn(json: unknown, keys: string[] = []): string[][] {
  if (typeof json !== 'object' || json === null) return [keys]
  return [keys, ...Object.entries(json).flatMap(([key, value]) => placesIn(value, [...keys, key]))]
}

it.each(CASES.filter(([, file]) => /^\.z|json/.test(file)))(
  '%s, odd values in %s',
  { timeout: 120_000 },
  async (name, file) => {
    const folder = join(home, `odd ${name}.zarr`)
    mkdirSync(folder, { recursive: true })
    writeStore(golden(name), folder)
    const text = Buffer.from(golden(name).files[file], 'base64')
      .toString()
      .replace(/\bNaN\b/g, '0')
    const places = placesIn(JSON.parse(text)).filter(keys => keys.length > 0)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), odd, async (keys, value) => {
        const json = JSON.parse(text)
        const above = keys.slice(0, -1).reduce((inner, key) => inner[key], json)
        above[keys.at(-1) as string] = value
        writeFileSync(join(folder, file), JSON.stringify(json))
        const problem = await read(folder).then(
          () => undefined,
          error => error,
        )
        if (problem !== undefined) expect(problem).toBeInstanceOf(SourceError)
      }),
    )
    rmSync(folder, { recursive: true })
  },
)
