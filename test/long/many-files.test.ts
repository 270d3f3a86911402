/** As many files as a large data set has: 100,000 shards, 100,000 texts, a million pictures. Some minutes, some 3 GB of disk. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type AnyBatch, type FeedJson, using } from '../support/engine.js'
import { temporaryFolder } from '../support/folder.js'
import { tarFile } from '../support/tar.js'

const SHARDS = 100_000
const PICTURES = 1_000_000
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

const rest = {
  order: { shuffle: 'global', seed: 1 },
  batch: { size: 500, last: 'keep' },
} as const

it.each(['tar', 'jsonl'] as const)('feeds %s files, 100,000 of them', async kind => {
  for (let i = 0; i < SHARDS; i++) {
    const text =
      kind === 'tar'
        ? tarFile([{ name: 'a.cls', data: String(i % 10) }], { pad: false })
        : `{"cls":${i % 10}}\n`
    writeFileSync(join(root, `f-${i}.${kind}`), text)
  }
  const source = { [kind]: `f-*.${kind}` } as FeedJson['source']
  await check(kind, { source, ...rest, fields: { cls: { from: 'cls', as: 'int' } } }, SHARDS)
})

it('feeds a million pictures of a folder', async () => {
  for (let c = 0; c < 10; c++) {
    mkdirSync(join(root, 'pictures', `c${c}`), { recursive: true })
    for (let i = 0; i < PICTURES / 10; i++) writeFileSync(join(root, 'pictures', `c${c}`, `${i}.png`), PNG)
  }
  const source = { folder: 'pictures' }
  const label = { from: 'label', as: 'int' } as const
  const image = { from: 'image', as: 'image', apply: [{ resize: 1 }, { centerCrop: 1 }] }
  await check(
    'pictures',
    { source, ...rest, fields: { image: image as FeedJson['fields'][string], label } },
    PICTURES,
  )
})
