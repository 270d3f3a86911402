/** Requests that are wrong: each is answered by one sentence, and the engine goes on. */
import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { Client, epoch, FEED, serve } from '../../../../test/support/protocol-client.js'
import { PROTOCOL } from '../../deliver/protocol-facts.js'

const WRONG = [null, true, -1, 1.5, 1e300, 'x', '', [], [null], [-1], ['x'], {}, { x: 1 }, [[[]]]]
const REQUESTS: Record<string, object> = {
  release: {},
  move: { epoch: 0, position: 0, limit: null, changes: [], held: [] },
  limit: {},
  ids: {},
  names: { epoch: 0, positions: [0] },
  bad: {},
  redo: { slot: 0, field: 'image', rows: [0] },
  weights: {},
  tune: { workers: 1, depth: 1 },
  open: { version: PROTOCOL, pid: 1, feed: FEED, root: '/', options: {}, share: { name: 'a', members: 1 } },
}

/** Every request with a wrong value in its place, or in the place of each of its parts. */
function* wrongRequests(): Generator<object> {
  for (const [name, right] of Object.entries(REQUESTS)) {
    for (const wrong of WRONG) {
      yield { [name]: wrong }
      for (const part of Object.keys(right)) yield { [name]: { ...right, [part]: wrong } }
    }
    for (const part of Object.keys(right)) yield { [name]: { ...right, [part]: undefined } }
  }
  for (const option of ['workers', 'depth', 'rank', 'world', 'epochs', 'steps', 'state', 'cache'])
    for (const wrong of WRONG)
      yield { open: { version: PROTOCOL, pid: 1, feed: FEED, root: '/', options: { [option]: wrong } } }
  for (const option of ['scratch', 'timeout', 'nvcomp', 'cpuShare', 'decode', 'limit'])
    for (const wrong of WRONG)
      yield { open: { version: PROTOCOL, pid: 1, feed: FEED, root: '/', options: { [option]: wrong } } }
  for (const part of ['source', 'order', 'fields', 'batch', 'onError', 'variants', 'map'])
    for (const wrong of WRONG)
      yield {
        open: {
          version: PROTOCOL,
          pid: 1,
          feed: { ...FEED, [part]: wrong },
          root: '/',
          variant: 'v',
          options: {},
        },
      }
}

test('values of a wrong type are answered by one sentence, and never by a stack', async () => {
  const { socket, child } = serve('--stay')
  const client = await Client.connect(socket)
  await client.open({ workers: 1, depth: 2 })
  const expected = await epoch(client)
  const bugs: string[] = []
  for (const request of wrongRequests()) {
    const fresh = 'open' in request
    const speaker = fresh ? await Client.connect(socket) : client
    // Some have no answer when they are right.
    const answer = await Promise.race([
      speaker.ask(request),
      client.ask({ stats: true }).then(() => client.ask({ stats: true })),
    ])
    if (answer.error && (answer.error.tag === 'Bug' || answer.error.message.includes('\n    at ')))
      bugs.push(`${answer.error.message.slice(0, 300)}\n${JSON.stringify(request).slice(-200)}`)
    if (fresh) speaker.end()
  }
  expect(bugs).toEqual([])
  expect(child.exitCode).toBeNull()
  const other = await Client.connect(socket)
  await other.open({ workers: 1, depth: 2 })
  expect(await epoch(other)).toEqual(expected)
})

test.each([
  [{ account: { seconds: -1 } }, /the request: account\.seconds: expected a number ≥ 0, found -1/],
  [{ account: { records: [['step', 1]] } }, /the request: account\.records\[0\]: expected a list of seven/],
  [{ release: 'x' }, /the request: release: expected a whole number ≥ 0, found "x"/],
  [{ names: { epoch: 0, positions: [100] } }, /an epoch has 100 positions: 100 is none/],
  [{ move: { epoch: 0 } }, /the request: move\.position: is missing/],
  [{ ids: 99 }, /there is no batch in slot 99/],
  [{ redo: { slot: 0, field: 'label', rows: [] } }, /no field "label" was left to the device/],
  [{ nothing: 1 }, /unknown request/],
  [
    { names: { epoch: 0, positions: Array(2 ** 20 + 1).fill(0) } },
    /the request: names\.positions: it has 1048577 entries, 1048576 at most/,
  ],
])('%j', async (request, message) => {
  const { socket } = serve()
  const client = await Client.connect(socket)
  await client.open({ workers: 1 })
  await client.take(0)
  expect((await client.ask(request)).error).toEqual({
    tag: 'Protocol',
    message: expect.stringMatching(message),
  })
  client.end()
})

/** What is answered to bytes that are no request. */
async function answerTo(socket: string, send: (write: (bytes: string) => Promise<void>) => Promise<void>) {
  ;(await Client.connect(socket)).end() // it listens by now
  const connection = connect(socket)
  let answer = ''
  connection.on('data', data => (answer += data))
  const ended = new Promise(resolve => connection.on('close', resolve))
  connection.on('error', () => {})
  await send(bytes => new Promise(resolve => connection.write(bytes, () => resolve())))
  await ended
  return answer
}

test('what is no request, or is too long, ends the connection with a word', async () => {
  const { socket } = serve('--stay')
  for (const line of ['null', '5', '"x"', '[]', '{', 'x'])
    expect(await answerTo(socket, write => write(`${line}\n`))).toMatch(/"Protocol".*this is no request/)
  const long = await answerTo(socket, async write => {
    for (let i = 0; i < 65; i++) await write('x'.repeat(2 ** 20))
  })
  expect(long).toMatch(/a request has 64 MiB at most/)
})

test('a request in many parts, and many requests in one', async () => {
  const { socket } = serve()
  const client = await Client.connect(socket)
  await client.open({ workers: 1 })
  const said = client.ask({
    names: { epoch: 0, positions: Array.from({ length: 2 ** 20 }, (_, i) => i % 100) },
  })
  const [names, ...others] = await Promise.all([said, ...[1, 2, 3].map(() => client.ask({ stats: true }))])
  expect(names.names).toHaveLength(2 ** 20)
  expect(others.map(answer => answer.stats.workers)).toEqual([1, 1, 1])
  client.end()
})

test('a feed that is no file does not stop the engine for others', async () => {
  const { socket } = serve('--stay')
  const path = join(temporaryFolder(), 'feed.json')
  expect(spawnSync('mkfifo', [path]).status).toBe(0)
  const client = await Client.connect(socket)
  const { error } = await client.ask({ open: { version: PROTOCOL, pid: 1, feedPath: path } })
  expect(error.message).toContain('is a named pipe (FIFO), not a regular file')
  await client.open({ workers: 1 })
  client.end()
})

test('members of a shared ring that can’t be leave its name to others', async () => {
  const { socket } = serve('--stay')
  const client = await Client.connect(socket)
  const share = (members: number) => client.open({ workers: 1 }, FEED, { name: 'a', members })
  await expect(share(0)).rejects.toThrow('the request: open.share.members: expected a whole number ≥ 1')
  await share(2)
  const other = await Client.connect(socket)
  await expect(other.open({ workers: 1 }, FEED, { name: 'a', members: 3 })).rejects.toThrow(
    '"share.members": the ring "a" has 2 members, not 3',
  )
  await other.open({ workers: 1 }, FEED, { name: 'a', members: 2 })
  client.end()
  other.end()
})
