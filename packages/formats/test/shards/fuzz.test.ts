/** Damaged folders of MDS and LitData, their shards or their index.json: refused by name, or their rows are read or bad. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { survives } from '../../../../test/support/fuzz.js'
import { DecodeError } from '../../../core/basics/errors.js'
import type { SourceJson } from '../../../core/define/types.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { readRow } from '../../../core/test/source/conformance.js'

/** Units of more than this are refused by the engine's cache; here they are not loaded. */
const UNIT = 1 << 20
const MOST = 8 << 20

it.each([
  ['mds', 'all', 'shard.00001.mds'],
  ['mds', 'plain', 'index.json'],
  ['mds', 'zstd', 'shard.00000.mds.zstd'],
  ['mds', 'snappy', 'index.json'],
  ['litdata', 'tree', 'chunk-0-0.bin'],
  ['litdata', 'torch', 'chunk-0-0.bin'],
  ['litdata', 'tree', 'index.json'],
  ['litdata', 'frames', 'chunk-0-1.bin'],
  ['litdata', 'arrow', 'chunk-0-0.bin'],
  ['litdata', 'zstd', 'chunk-0-0.zstd.bin'],
])('%s: %s/%s', async (kind, name, file) => {
  const folder = join(temporaryFolder(), name)
  cpSync(join(import.meta.dirname, '../../../../test/golden', kind, name), folder, { recursive: true })
  const path = join(folder, file)
  const read = async (bytes: Uint8Array): Promise<void> => {
    writeFileSync(path, bytes)
    const source = attachSource(
      await openSource({ [kind]: folder } as unknown as SourceJson, { root: folder, wanted: [] }),
    )
    const units = source.unitStarts?.length ?? 0
    for (let unit = 0; unit < units; unit++) if (source.unitBytes!(unit, []) > UNIT) return
    for (let row = 0; row < Math.min(source.count, 20); row++) {
      for (const column of source.columns) {
        try {
          readRow(source, row, [column])
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error
        }
      }
    }
  }
  await survives(readFileSync(path), read, { most: MOST, runs: 80 })
})
