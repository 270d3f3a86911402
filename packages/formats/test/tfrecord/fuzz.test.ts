/** Damaged TFRecord files: refused by name, or their rows are read or bad. */
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import { it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError } from '../../../core/basics/errors.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { readRow } from '../../../core/test/source/conformance.js'
import { framed } from './write-records.js'

const golden = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, '../../../../test/golden/tfrecord', name))
const root = temporaryFolder()
/** A file is read in pieces of 1 MiB at most. */
const MOST = 4 << 20
/** A unit of what is decompressed: 7 kB of deflate give 7 MB at most. */
const MOST_PACKED = 24 << 20
let written = 0

async function read(bytes: Uint8Array): Promise<void> {
  const name = `x${written++}.data`
  writeFileSync(join(root, name), bytes)
  utimesSync(join(root, name), 1e9, 1e9) // long ago: a file that was just written is waited for
  const source = attachSource(
    await openSource({ tfrecord: { path: name, check: false } }, { root, wanted: [] }),
  )
  for (let row = 0; row < Math.min(source.count, 10); row++) {
    for (const column of [...source.columns, 'box', 'wide', 'tags[1]', 'xy', 'steps', 'floats', 'ints']) {
      try {
        readRow(source, row, [column])
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
      }
    }
  }
}

it.each(['plain.tfrecord', 'sequence.tfrecord'])('a damaged file: %s', async name => {
  await survives(golden(name), read, { most: MOST, runs: 60 })
})

it.each(['packed-gzip.tfrecord', 'packed-zlib.tfrecord'])('a damaged file: %s', async name => {
  await survives(golden(name), read, { most: MOST_PACKED, runs: 60 })
})

it.each([gzipSync, deflateSync])('damaged frames that were compressed: %o', async pack => {
  await survives(golden('plain.tfrecord'), bytes => read(pack(bytes)), { most: MOST_PACKED, runs: 60 })
})

it.each(['plain.tfrecord', 'sequence.tfrecord', 'unpacked.tfrecord'])(
  'damaged messages in frames that are right: %s',
  async name => {
    const file = golden(name)
    const message = file.subarray(12, 12 + Number(file.readBigUInt64LE(0)))
    await survives(message, bytes => read(framed(bytes)), { most: MOST })
  },
)
