/** A source with units of many rows goes through all that every source goes through. It comes as a plugin. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll } from 'vitest'
import type { SourceJson } from '../../packages/core/define/types.js'
import { loadPlugins } from '../../packages/core/source/plugins.js'
import { conforms } from '../../packages/core/test/source/conformance.js'
import { temporaryFolder } from '../support/folder.js'
import { expected, writeUnits } from '../support/units-source.mjs'
import { matrix } from './matrix.js'

const plugin = pathToFileURL(join(import.meta.dirname, '../support/units-source.mjs')).href
const home = temporaryFolder()
const rows = (seed: number): number => (seed === 1 ? 1000 : 400)

beforeAll(() => loadPlugins([plugin]))

const latin = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const { data, extra, own } = expected(4, 0)
conforms({
  name: 'units',
  json: { units: { path: '.' } } as unknown as SourceJson,
  wanted: ['data', 'extra', 'own', 'number'],
  write: root => writeUnits(root, { rows: 700, seed: 4 }),
  change: root => writeUnits(root, { rows: 700, seed: 5 }),
  count: 700,
  first: { data: latin(data), extra: latin(extra), own: latin(own), number: '0' },
})

for (const seed of [1, 2]) writeUnits(join(home, String(seed)), { rows: rows(seed), seed })
const unitsAt = (later: boolean) => (seed: number, prefix?: string) =>
  ({ units: { path: join(home, String(seed)), later, prefix } }) as unknown as SourceJson

const shared = { rows, times: 1, plugins: [plugin], prefixes: true, window: 400 }
matrix('units of 1 to 500 rows', { ...shared, source: unitsAt(false) })
matrix('units that are loaded later', { ...shared, source: unitsAt(true), brief: true })
