/** Checksums of pages: damage that decodes well is found by them. test/golden/parquet/make.py wrote the files. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type FeedJson, using } from '../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { verify } from '../../../tools/prepare/verify/verify.js'

const golden = join(import.meta.dirname, '../../../../test/golden/parquet')
const root = temporaryFolder()
process.env.MILLRACE_CACHE = join(root, 'cache')

const feed = (path: string, checksums?: boolean): FeedJson => ({
  source: { parquet: checksums === undefined ? path : { path, checksums } },
  order: 'none',
  fields: { x: { from: 'x', as: 'int', dtype: 'i32' } },
  batch: { size: 250, last: 'keep' },
})

async function sum(json: FeedJson): Promise<number> {
  return using(json, { workers: 0 }, async loader => {
    let total = 0
    for await (const batch of loader) for (const x of batch.x as Int32Array) total += x
    return total
  })
}

for (const version of ['1', '2']) {
  test(`a changed value in pages of version ${version}`, async () => {
    const right = join(root, `right-${version}.parquet`)
    cpSync(join(golden, `checksums-${version}.parquet`), right)
    expect(await sum(feed(right))).toBe(499_500)
    const bytes = readFileSync(right)
    // The value 700 becomes 701.
    const value = Buffer.alloc(16)
    value.writeBigInt64LE(700n)
    value.writeBigInt64LE(701n, 8)
    bytes[bytes.indexOf(value)]++
    const wrong = join(root, `wrong-${version}.parquet`)
    writeFileSync(wrong, bytes)
    const reported = /wrong-.\.parquet.*column "x".*another checksum \(CRC-32\) than its header says/
    await expect(sum(feed(wrong))).rejects.toThrow(reported)
    expect(await sum(feed(wrong, false))).toBe(499_501)
    const { bad } = await verify(feed(wrong, false).source, { root, workers: 0 })
    expect(JSON.stringify(bad)).toContain('another checksum')
  })
}
