/**
 * As many files as a large data set has: 100,000 shards, 100,000 texts, a million pictures, most of them hard links to a few.
 * `LONG_RUNS=0.1` takes a tenth of them.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type AnyBatch, type FeedJson, using } from '../support/engine.js'
import { temporaryFolder } from '../support/folder.js'
import { tarFile } from '../support/tar.js'
import { RUNS } from './support.js'

const SHARDS = 100_000 * RUNS
const PICTURES = 1_000_000 * RUNS
/** Names that a file may have on ext4: 65,000. */
const LINKS = 50_000
/** A grey picture of one pixel, as a PNG. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)
const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')

const maps = (): number => readFileSync('/proc/self/maps', 'latin1').split('\n').length
const files = (): number => readdirSync('/proc/self/fd').length
const rss = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20)

/** Delivers an epoch in two runs, which are the same as one; each row comes once. */
async function check(name: string, json: FeedJson, count: number): Promise<void> {
  const before = { files: files() }
  const seen = new Set<string>()
  const half = Math.floor(count / 2)
  const take = (batch: AnyBatch): void => {
    for (const id of batch.ids) seen.add(id)
  }
  let begun = performance.now()
  const state = await using(json, { root, workers: 2 }, async loader => {
    await loader.ready
    console.log(`${name}: opened for the first time in ${Math.round(performance.now() - begun)} ms`)
    for await (const batch of loader) {
      take(batch)
      if (seen.size >= half) break
    }
    return loader.state()
  })
  begun = performance.now()
  await using(json, { root, workers: 2, state }, async loader => {
    await loader.ready
    console.log(`${name}: opened again in ${Math.round(performance.now() - begun)} ms`)
    for await (const batch of loader) take(batch)
    console.log(`${name}: ${rss()} MB, ${maps()} mappings, ${files()} files open`)
    expect(maps()).toBeLessThan(40_000)
    expect(files() - before.files).toBeLessThan(500)
  })
  expect(seen.size).toBe(count)
}

/** Gives a file with these contents many names. */
function linked(data: string | Uint8Array, names: readonly string[]): void {
  names.forEach((name, i) => {
    const first = join(root, names[i - (i % LINKS)])
    if (i % LINKS === 0) writeFileSync(first, data)
    else linkSync(first, join(root, name))
  })
}

const rest = {
  order: { shuffle: 'global', seed: 1 },
  batch: { size: 500, last: 'keep' },
} as const

it.each(['tar', 'jsonl'] as const)(`feeds ${SHARDS} %s files`, async kind => {
  const data = kind === 'tar' ? tarFile([{ name: 'a.cls', data: '3' }], { pad: false }) : '{"cls":3}\n'
  linked(
    data,
    Array.from({ length: SHARDS }, (_, i) => `f-${i}.${kind}`),
  )
  const source = { [kind]: `f-*.${kind}` } as FeedJson['source']
  await check(kind, { source, ...rest, fields: { cls: { from: 'cls', as: 'int' } } }, SHARDS)
})

it(`feeds ${PICTURES} pictures of a folder, and of a pattern`, async () => {
  for (let c = 0; c < 10; c++) {
    mkdirSync(join(root, 'pictures', `c${c}`), { recursive: true })
    linked(
      PNG,
      Array.from({ length: PICTURES / 10 }, (_, i) => join('pictures', `c${c}`, `${i}.png`)),
    )
  }
  // As stored: to decode a million takes half an hour.
  const image = { as: 'bytes', ragged: { max: 128 } } as const
  const fields = {
    image: { ...image, from: 'image' },
    label: { from: 'label', as: 'int' },
  } as unknown as FeedJson['fields']
  await check('folder', { source: { folder: 'pictures' }, ...rest, fields }, PICTURES)
  const bytes = { image: { ...image, from: 'file' } } as unknown as FeedJson['fields']
  await check('files', { source: { files: 'pictures/**/*.png' }, ...rest, fields: bytes }, PICTURES)
})
