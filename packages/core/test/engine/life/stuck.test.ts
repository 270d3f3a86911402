/** A maker that is blocked in a system call: its sample is named, and the process ends all the same. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { feedModule } from '../../../../../test/support/engine.js'
import { temporaryFolder, writeFiles } from '../../../../../test/support/folder.js'
import { type Ended, programs } from '../../../../../test/support/program.js'
import { Client, serve, sleep } from '../../../../../test/support/protocol-client.js'
import { Fetcher } from '../../../engine/fetch/fetch.js'
import type { Need, Pieces, Source } from '../../../source/source.js'

const CLI = join(import.meta.dirname, '../../../../../dist/cli/main.js')
const folder = temporaryFolder()
const fifo = join(folder, 'fifo')
spawnSync('mkfifo', [fifo])

/** Sample 21 reads from a pipe that nothing is written to. Every maker claims one batch at a time. */
await feedModule(
  folder,
  'stuck.feed.mjs',
  `import { readFileSync } from 'node:fs'
export default feed({
  source: { synthetic: { count: 64, tensors: { shape: [1], dtype: 'u32' } } },
  order: 'none',
  map: sample => {
    if (new Uint32Array(sample.data.slice().buffer)[0] === 21) readFileSync(${JSON.stringify(fifo)})
    return sample
  },
  fields: { number: bytes('data').ragged({ max: 16384 }) },
  batch: 4,
})`,
)
const path = join(folder, 'stuck.feed.mjs')

/** A command that runs until it ends, or is sent a signal when it has written something to `sign`. */
function command(words: string[], sign?: { path: string; signal: NodeJS.Signals }): Promise<Ended> {
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', data => (stdout += data))
  child.stderr.on('data', data => (stderr += data))
  const looking = setInterval(() => {
    // Batch 4 is the last that can be delivered: sample 21 is in the next.
    if (sign && existsSync(sign.path) && readFileSync(sign.path, 'utf8').includes('"position":20'))
      child.kill(sign.signal)
  }, 50)
  return new Promise(resolve =>
    child.on('close', (code, signal) => {
      clearInterval(looking)
      resolve({ code, signal, stdout, stderr })
    }),
  )
}

describe('a maker that is blocked in a system call', () => {
  test('on the command line: the sample is named, the state is saved, and the command ends', async () => {
    const state = join(folder, 'state.json')
    const { code, stderr } = await command(['run', path, '--workers', '2', '--timeout', '5', '--save', state])
    expect(stderr).toMatch(/sample 21 has taken \d+ s .*stuck in a system call.*ended by force/)
    expect(code).toBe(1)
    expect(JSON.parse(readFileSync(state, 'utf8'))).toMatchObject({ epoch: 0, position: 20 })
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('on the command line: %s ends it', async (signal, status) => {
    const state = join(folder, `${signal}.json`)
    const { code } = await command(['run', path, '--workers', '2', '--save', state], { path: state, signal })
    expect(code).toBe(status)
  })

  test("in a program of the user's: it is told, and how to end it", async () => {
    const { stdout, signal } = await programs(folder).run(
      `const { default: stuck } = await import(${JSON.stringify(path)})
const loader = open(stuck, { workers: 2, timeout: 5 })
try {
  for await (const batch of loader) console.log(batch.ids.join())
} catch (error) {
  console.log(error.constructor.name, error.message)
}
await loader.close()
console.log('closed')
process.kill(process.pid, 'SIGKILL')`,
    )
    expect(stdout).toMatch(/16,17,18,19\nEngineError sample 21 has taken .*can't exit normally.*SIGKILL/)
    expect(stdout).toMatch(/closed/)
    expect(signal).toBe('SIGKILL')
  })

  test('in an engine: its client is told, others go on, and it ends with its last client', async () => {
    const { socket, exit } = serve(path)
    const client = await Client.connect(socket)
    await client.open({ workers: 1, depth: 8, timeout: 5 }, null)
    while (client.unasked.length === 0) await sleep(50)
    expect(client.unasked[0].failed.message).toMatch(/sample 21 has taken/)
    // There is one maker, and another takes its place.
    const other = await Client.connect(socket)
    await other.open({ workers: 1 })
    await other.take(0)
    other.end()
    client.end()
    expect(await exit).toBe(0)
  })

  test('in an engine: it does not outlive its client', async () => {
    const { socket, exit } = serve(path)
    const client = await Client.connect(socket)
    await client.open({ workers: 1, depth: 8 }, null)
    await client.take(4)
    // Sample 21 is in the next one: the maker is at it.
    while (client.word(10240) !== 1) await sleep(10)
    client.end()
    expect(await exit).toBe(0)
    expect(existsSync(socket)).toBe(false)
  })
})

test('which row is being read is known: a read may hang', () => {
  const data = temporaryFolder()
  writeFiles(data, { a: 'aaaa', b: 'bbbb', c: 'cccc' })
  const files = ['c', 'a', 'b'].map(name => join(data, name))
  const source = {
    columns: ['x'],
    need: (row: number, _epoch: number, _columns: string[], { ranges }: Need) =>
      ranges.push({ file: files[row], offset: 0, length: 4 }),
    sample: (_row: number, _epoch: number, _columns: string[], { ranges: [x] }: Pieces) => ({ x }),
  } as unknown as Source
  const fetcher = new Fetcher([source], undefined, 0)
  const reading: number[] = []
  const draws = [0, 1, 2].map(row => ({ source: 0, row, drawn: 0, epoch: 0 }))
  fetcher.fetch(draws, 3, 0, i => reading.push(i))
  // In the order of the files, which is that of the reads.
  expect(reading).toEqual([1, 2, 0])
  expect(Buffer.from(fetcher.sample(0).x as Uint8Array).toString()).toBe('cccc')
  fetcher.close()
})
