/** Every store that zarr-python made is read as zarr-python reads it, element for element. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { GOLDEN, openZarr, readAll, writeStore } from './stores.js'

const home = temporaryFolder()

describe('zarr-python', () => {
  it.each(GOLDEN.map((store, i) => ({ ...store, i })))('$name', async ({ i, ...store }) => {
    const folder = join(home, `${i}.zarr`)
    writeStore(store, folder)
    const archive = Object.keys(store.files).find(name => name.endsWith('.zip'))
    const source = await openZarr({ path: join(folder, archive ?? ''), ...store.source })
    expect(await readAll(source)).toEqual(store.columns)
  })
})
