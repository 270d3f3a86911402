/** `millrace serve`, spoken to by hand: the protocol of docs/protocol.md, with real processes. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import {
  Client,
  epoch,
  epochFrom,
  FEED,
  ROWS,
  rings,
  serve,
  sleep,
  started,
} from '../../../../test/support/protocol-client.js'
import { until } from '../../../../test/support/until.js'
import { PROTOCOL } from '../../deliver/protocol-facts.js'

/** Two clients of one rank. */
async function shareRank(socket: string, options: object): Promise<Client[]> {
  const clients = [await Client.connect(socket), await Client.connect(socket)]
  for (const client of clients) await client.open(options, FEED, { name: 'dp', members: 2 })
  return clients
}

describe('serve', () => {
  test('delivers the same batches for any workers and depth, and ends with its last client', async () => {
    const { socket, exit } = serve()
    const one = await Client.connect(socket)
    await one.open({ workers: 1, depth: 1 })
    const two = await Client.connect(socket)
    await two.open({ workers: 2, depth: 4 })
    const [first, second] = await Promise.all([epoch(one), epoch(two)])
    expect(first).toEqual(second)
    expect(first.length).toBe(13)
    expect(new Set(first.flatMap(line => line.split(' ')[0].split(','))).size).toBe(100)
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    one.end()
    two.end()
    expect(await exit).toBe(0)
    expect(existsSync(socket)).toBe(false)
  })

  test('a header says where the run goes on; moving there gives the rest', async () => {
    const { socket } = serve()
    const client = await Client.connect(socket)
    await client.open({ workers: 2, depth: 2 })
    const all: string[] = []
    let next = { epoch: 0, position: 0 }
    for (let k = 0; k < 5; k++) {
      const slot = await client.take(k)
      next = { epoch: client.double(client.at(slot) + 208), position: client.double(client.at(slot) + 216) }
      all.push(...(await client.ask({ ids: slot })).ids)
      client.say({ release: slot })
    }
    expect(next).toEqual({ epoch: 0, position: 5 * ROWS })
    const { moved } = await client.ask({ move: { ...next, limit: 8, held: [] } })
    expect(moved.generation).toBeGreaterThan(client.opened.generation)
    for (let k = 0; k < 8; k++) {
      const slot = await client.take(k)
      all.push(...(await client.ask({ ids: slot })).ids)
      client.say({ release: slot })
    }
    expect(all.length).toBe(100)
    expect(new Set(all).size).toBe(100)
    client.end()
  })

  test('clients that share a rank see the same batches, and a slot waits for both', async () => {
    const { socket } = serve()
    const [one, two] = await shareRank(socket, { workers: 2, depth: 2 })
    const alone = [await one.take(0), await one.take(1)]
    for (const slot of alone) one.say({ release: slot })
    await sleep(300)
    expect(one.word(256 + 4 * 2)).not.toBe(3) // batch 2 has no slot yet
    const both = await Promise.all([epoch(two), epochFrom(one, 2)])
    expect(both[0].slice(2)).toEqual(both[1])
    one.end()
    expect((await two.ask({ stats: true })).stats.depth).toBe(2)
    two.end()
  })

  test('a client that leaves its rank takes no batches from the others', async () => {
    const { socket } = serve()
    const [one, two] = await shareRank(socket, { workers: 1, depth: 2 })
    one.say({ release: await one.take(0) })
    one.end()
    await sleep(300)
    expect(two.word(256 + 4 * 2)).not.toBe(3) // batch 2 has no slot yet
    expect(await epoch(two)).toHaveLength(two.opened.steps.first)
    two.end()
  })

  test('clients that share a rank move together, whatever each of them still holds', async () => {
    const { socket } = serve()
    const [one, two] = await shareRank(socket, { workers: 1, depth: 2 })
    const held = await one.take(0)
    const place = { epoch: 1, position: 0, limit: null }
    const moved = await Promise.all([one.ask({ move: { ...place, held: [held] } }), two.ask({ move: place })])
    expect(moved.map(({ error }) => error)).toEqual([undefined, undefined])
    expect(await one.take(0)).not.toBe(held)
    one.end()
    two.end()
  })

  test('a rank whose members are all here can be opened once more, in whatever order they leave', async () => {
    const { socket } = serve()
    const [one, two] = await shareRank(socket, { workers: 1 })
    one.end()
    const again = await shareRank(socket, { workers: 1 })
    two.end()
    const [first, second] = await Promise.all(again.map(epoch))
    expect(first).toEqual(second)
    for (const client of again) client.end()
  })

  test('a client that vanishes while its feed is opened leaves no ring behind', async () => {
    const { child, socket } = serve('--stay')
    const here = await Client.connect(socket)
    await here.open({ workers: 1 })
    expect(rings(child)).toBe(1)
    const gone = await Client.connect(socket)
    const open = { version: PROTOCOL, pid: process.pid, feed: FEED, root: '/', options: { workers: 1 } }
    gone.socket.write(`${JSON.stringify({ id: 1, open })}\n`, () => gone.end())
    await sleep(1000) // for a ring that should not come
    await until(() => rings(child) === 1)
    expect(await epoch(here)).toHaveLength(here.opened.steps.first)
    here.end()
  })

  test('a rank whose first client vanishes while it is opened is opened for the second', async () => {
    const { child, socket } = serve('--stay')
    const here = await Client.connect(socket)
    await here.open({ workers: 1 })
    const share = { name: 'dp', members: 2 }
    const open = {
      version: PROTOCOL,
      pid: process.pid,
      feed: FEED,
      root: '/',
      options: { workers: 1 },
      share,
    }
    const [gone, left] = [await Client.connect(socket), await Client.connect(socket)]
    gone.say({ id: 1, open })
    const opened = left.open({ workers: 1 }, FEED, share)
    gone.end()
    await opened
    await left.take(0)
    left.end()
    await sleep(1000) // for a ring that should not come
    await until(() => rings(child) === 1)
    expect(await epoch(here)).toHaveLength(here.opened.steps.first)
    here.end()
  })

  test('a client that says "close" need not close its socket', async () => {
    const { child, socket } = serve('--stay')
    const client = await Client.connect(socket)
    client.socket.allowHalfOpen = true
    await client.open({ workers: 1 })
    client.say({ close: true })
    await until(() => rings(child) === 0)
    client.end()
  })

  test('slots that nobody holds are not given back, and makers go on', async () => {
    const { socket } = serve()
    const [wild, calm] = [await Client.connect(socket), await Client.connect(socket)]
    await wild.open({ workers: 1, depth: 2 })
    await wild.take(1)
    for (const slot of [3, 3, 3, 2, 2, 2]) wild.say({ release: slot })
    await wild.ask({ move: { epoch: 0, position: 0, limit: 0 } })
    for (const slot of [0, 0, 1, 1, 2, 3]) wild.say({ release: slot })
    wild.say({ limit: null })
    await calm.open({ workers: 1 })
    expect(await epoch(calm)).toHaveLength(calm.opened.steps.first)
    expect(await epoch(wild)).toHaveLength(wild.opened.steps.first)
    for (const client of [wild, calm]) client.end()
  })

  test('refuses another version, a wrong feed and nonsense, each with a message', async () => {
    const { socket } = serve('--stay')
    const client = await Client.connect(socket)
    const old = await client.ask({ open: { version: 99, pid: 1, feed: FEED } })
    expect(old.error.message).toMatch(/version 99/)
    const typo = { ...FEED, fields: { image: { from: 'jpg', as: 'imag' } } }
    const wrong = await client.ask({ open: { version: PROTOCOL, pid: 1, feed: typo, root: '/' } })
    expect(wrong.error).toEqual({
      tag: 'Definition',
      message: expect.stringContaining('did you mean "image"'),
    })
    expect((await client.ask({ ids: 0 })).error.message).toMatch(/open/)
    client.socket.write('this is no JSON\n')
    await new Promise(resolve => client.socket.once('close', resolve))
    expect(client.unasked.at(-1).error.tag).toBe('Protocol')
    client.end()
  })

  test('bad samples are counted in the header and named on request', async () => {
    const folder = temporaryFolder()
    const { writeFileSync } = await import('node:fs')
    writeFileSync(join(folder, 'a.jpg'), 'no picture')
    const { socket } = serve()
    const client = await Client.connect(socket)
    const feed = {
      source: { files: join(folder, '*.jpg') },
      fields: { image: { from: 'jpg', as: 'image', apply: [{ resize: [8, 8] }] } },
      batch: 1,
    }
    await client.open({ workers: 1 }, feed)
    const slot = await client.take(0)
    expect(client.word(client.at(slot) + 12)).toBe(1)
    const { bad } = await client.ask({ bad: 0 })
    expect(bad).toMatchObject([
      { row: 0, id: expect.any(String), stage: 'decode', message: expect.stringContaining('a.jpg') },
    ])
    client.end()
  })

  test('ends when its starter is gone, though a client is there', async () => {
    const starter = spawn('sleep', ['60'])
    started.push(starter)
    const { socket, exit } = serve('--starter', String(starter.pid))
    const client = await Client.connect(socket)
    await client.open({ workers: 1 })
    starter.kill('SIGKILL')
    expect(await exit).toBe(0)
    expect(existsSync(socket)).toBe(false)
    client.end()
  })

  test('the heartbeat follows the clock, and the engine can be named for good', async () => {
    const { socket, child } = serve()
    const client = await Client.connect(socket)
    const { engine } = await client.open({ workers: 1 })
    expect(engine.pid).toBe(child.pid)
    expect(readFileSync(`/proc/${engine.pid}/stat`, 'latin1')).toContain(` ${engine.started} `)
    const before = client.double(640)
    await until(() => client.double(640) > before)
    client.end()
  })
})
