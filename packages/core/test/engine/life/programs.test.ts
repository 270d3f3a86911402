/** A loader never stands in a program's way: neither at its end, nor while it runs. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { MILLRACE } from '../../../../../test/support/engine.js'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { programs } from '../../../../../test/support/program.js'
import { LONGEST_WAIT } from '../../../../../test/support/until.js'

const folder = temporaryFolder()

describe('a program', () => {
  const NUMBERS = `{ source: { synthetic: { count: 1000, images: { width: 16, height: 16 } } },
    order: { shuffle: 'global', seed: 0 },
    fields: { image: { from: 'jpg', as: 'image', apply: [{ centerCrop: 8 }] } }, batch: 10 }`

  test.each([
    ['broke off its loop', 'for await (const batch of open(FEED, { workers: 2 })) break'],
    ['never began one', 'const loader = open(FEED, { workers: 2 }); await loader.ready'],
    [
      'holds an iterator',
      'const it = open(FEED, { workers: 2 })[Symbol.asyncIterator](); await it.next(); globalThis.it = it',
    ],
    [
      'kept a batch',
      'for await (const batch of open(FEED, { workers: 2 })) { globalThis.b = batch.keep(); break }',
    ],
  ])('that %s ends by itself', async (_, code) => {
    const { code: status } = await programs(folder).run(`const FEED = ${NUMBERS}\n${code}`)
    expect(status).toBe(0)
  })

  test('that stands on the command line of Node has makers that live', () => {
    const code = `import { open } from ${JSON.stringify(MILLRACE)}
let count = 0
for await (const batch of open(${NUMBERS}, { workers: 2 })) count += batch.count
console.log(count)`
    const flags = ['--input-type=module', '--no-warnings', '-e', code]
    const { stdout, stderr, status } = spawnSync(process.execPath, flags, {
      encoding: 'utf8',
      timeout: LONGEST_WAIT,
    })
    expect(stdout, stderr).toBe('1000\n')
    expect(status).toBe(0)
  })

  test('that opens and closes feeds for ever has no more mappings for that', async () => {
    const { stdout, stderr } = await programs(folder).run(
      `import { readFileSync } from 'node:fs'
const mappings = async () => {
  for (let i = 0; i < 4; i++) {
    gc()
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return readFileSync('/proc/self/maps', 'utf8').split('\\n').length
}
const rounds = async count => {
  for (let i = 0; i < count; i++) {
    const loader = open(${NUMBERS}, { workers: 1, steps: 2 })
    for await (const batch of loader);
    await loader.close()
  }
}
await rounds(10)
const before = await mappings()
await rounds(40)
console.log((await mappings()) - before)`,
      ['--expose-gc'],
    )
    // Three for each thread that was, and more for each memory that is not freed: these would be 200. V8's heap may grow by some.
    expect(Number(stdout), stderr).toBeLessThan(100)
  })

  test('that waits for two feeds at once gets all of both', async () => {
    const { code, stdout } = await programs(folder).run(
      `const FEED = ${NUMBERS}
      const count = async loader => { let n = 0; for await (const b of loader) { n += b.count; if (n % 90 === 0) await 0 } return n }
      const loaders = [open(FEED, { workers: 2, depth: 1 }), open({ ...FEED, batch: 500 }, { workers: 2, depth: 1 })]
      console.log((await Promise.all(loaders.map(count))).join())`,
    )
    expect([code, stdout]).toEqual([0, '1000,1000\n'])
  })

  test('has time for its own timers and signals while batches are always ready', async () => {
    const { code, stdout } = await programs(folder).run(
      `const FEED = ${NUMBERS}
      const loader = open(FEED, { workers: 2, depth: 8, epochs: null })
      const word = new Int32Array(new SharedArrayBuffer(4))
      setTimeout(() => { console.log('in time'); process.exit(0) }, 300)
      let steps = 0
      for await (const _ of loader) {
        Atomics.wait(word, 0, 0, 10) // a trainer that waits for its GPU
        if (++steps === 300) { console.log('starved'); process.exit(1) }
      }`,
    )
    expect([code, stdout]).toEqual([0, 'in time\n'])
  })

  test('disposes of its loader where the language can', async () => {
    const { code, stdout } = await programs(folder).run(
      `const FEED = ${NUMBERS}
      const loader = open(FEED, { workers: 2 })
      for await (const _ of loader) break
      await loader[Symbol.asyncDispose]()
      console.log(process._getActiveHandles().length < 5)`,
    )
    expect([code, stdout]).toEqual([0, 'true\n'])
  })
})
