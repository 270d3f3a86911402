import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { mapped } from '../../../../test/support/maps.js'
import { mapFile, mappings, shareMappings } from '../../system/memory/mmap.js'

const folder = temporaryFolder()

it('shows a file, and keeps showing it after another took its name', () => {
  const path = join(folder, 'a')
  writeFileSync(path, 'first')
  const first = mapFile(path)
  writeFileSync(join(folder, 'b'), 'second')
  renameSync(join(folder, 'b'), path)
  expect(Buffer.from(first.buffer).toString()).toBe('first')
  expect(Buffer.from(mapFile(path).buffer).toString()).toBe('second')
})

it('shows an empty file as nothing, and names a missing one', () => {
  writeFileSync(join(folder, 'empty'), '')
  expect(mapFile(join(folder, 'empty')).buffer.byteLength).toBe(0)
  expect(() => mapFile(join(folder, 'missing'))).toThrow(/missing/)
})

it.runIf(process.platform === 'linux')(
  'maps a file once for all threads that share what they know',
  async () => {
    const path = join(folder, 'shared')
    writeFileSync(path, 'some text')
    const module = new URL('../../../../build/core/system/memory/mmap.js', import.meta.url).href
    const program = `
    const { workerData, parentPort } = require('node:worker_threads')
    import(${JSON.stringify(module)}).then(({ mapFile, shareMappings }) => {
      shareMappings(workerData)
      const found = Array.from({ length: 50 }, () => Buffer.from(mapFile(${JSON.stringify(path)}).buffer).toString())
      parentPort.postMessage([...new Set(found)])
    })`
    const workers = Array.from(
      { length: 4 },
      () => new Worker(program, { eval: true, workerData: mappings() }),
    )
    for (const found of await Promise.all(workers.map(worker => once(worker, 'message')))) {
      expect(found).toEqual([['some text']])
    }
    expect(Buffer.from(mapFile(path).buffer).toString()).toBe('some text')
    expect(mapped(path)).toBe(1)
  },
)

it('goes on where nothing more can be remembered', () => {
  const before = mappings()
  shareMappings(new SharedArrayBuffer(before.byteLength))
  new BigUint64Array(mappings()).fill(2n)
  const path = join(folder, 'one more')
  writeFileSync(path, 'text')
  expect(Buffer.from(mapFile(path).buffer).toString()).toBe('text')
  shareMappings(before)
})
