/** Data that change while a run goes on: the run ends with a word about it, whatever is to become of bad samples. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { engine, type FeedJson, using } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { tarFile } from '../../../../../test/support/tar.js'

const COUNT = 400

const feed = (source: FeedJson['source'], from: string): FeedJson => ({
  source,
  order: 'none',
  fields: { text: { from, as: 'text', ragged: { max: 4000 } } },
  batch: { size: 2, last: 'keep' },
  onError: { policy: 'drop', budget: COUNT },
})

/** Runs until the data are changed, after the first batch, and on. The error that ends it. */
async function endOf(json: FeedJson, root: string, change: () => void): Promise<Error> {
  const error = await using(json, { root, workers: 1, depth: 2 }, async loader => {
    let batches = 0
    for await (const _ of loader) if (batches++ === 0) change()
    return new Error(`it went on for ${batches} batches`)
  }).catch(error => error as Error)
  expect(error).toBeInstanceOf(engine.MillraceError)
  return error
}

describe('with `drop`', () => {
  test('a file that changes ends the run, and the next one reads it as it is', async () => {
    const root = temporaryFolder()
    const name = (i: number) => `d/${1000 + i}.txt`
    writeFiles(root, Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [name(i), `text ${i}`])))
    const json = feed({ files: 'd/*' }, 'txt')
    const error = await endOf(json, root, () => writeFileSync(join(root, name(COUNT - 1)), 'another text'))
    expect(error.message).toMatch(
      /1399\.txt changed during the run: it had 8 bytes, now it has 12\..*start again/,
    )
    const texts = await using(json, { root, workers: 1 }, async loader => {
      const found: string[] = []
      for await (const batch of loader) found.push(...(batch.text as string[]))
      return found
    })
    expect(texts).toHaveLength(COUNT)
    expect(texts.at(-1)).toBe('another text')
  })

  test('a shard that is written over ends the run', async () => {
    const root = temporaryFolder()
    const shard = (word: string) =>
      tarFile(
        Array.from({ length: COUNT }, (_, i) => ({ name: `${i}.txt`, data: `${word} ${i}`.padEnd(3000) })),
      )
    writeFileSync(join(root, 'a.tar'), shard('old'))
    const error = await endOf(feed({ tar: 'a.tar' }, 'txt'), root, () =>
      writeFileSync(join(root, 'a.tar'), shard('new')),
    )
    expect(error.message).toMatch(/a\.tar changed during the run/)
    expect(readdirSync(root).sort()).toEqual(['.a.tar.millrace', 'a.tar'])
  })
})
