/** Archives by Python's tarfile and by webdataset's own writer must be read as webdataset reads them. */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { attachSource, openSource } from '../../../core/source/registry.js'
import { asText, readRow } from '../../../core/test/source/conformance.js'

const golden = join(import.meta.dirname, '../../../../test/golden/tar')
const home = temporaryFolder()

for (const file of readdirSync(golden).filter(name => name.endsWith('.tar'))) {
  it(`reads ${file} as webdataset does`, async () => {
    copyFileSync(join(golden, file), join(home, file))
    const source = attachSource(await openSource({ tar: file }, { root: home, wanted: [] }))
    const samples = Array.from({ length: source.count }, (_, row) => {
      const values = readRow(source, row, source.columns)
      const columns = Object.entries(values).map(([name, value]) => [name, asText(value)])
      return { __key__: source.key(row), ...Object.fromEntries(columns) }
    })
    expect(samples).toEqual(JSON.parse(readFileSync(join(golden, file.replace('.tar', '.json')), 'utf8')))
  })
}
