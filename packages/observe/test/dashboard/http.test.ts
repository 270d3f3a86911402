/** The server of the page against requests of all kinds: real HTTP, with something made up to show. */
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/support/until.js'
import { DashboardServer, pageOf } from '../../dashboard/server/http.js'
import type { Shown, View } from '../../dashboard/server/requests.js'
import { MOST_STREAMS } from '../../dashboard/server/streams.js'
import type { Hello, Now } from '../../dashboard/view.js'

const hello: Hello = {
  version: '1',
  host: 'here',
  dollarsPerHour: 2,
  run: null,
  others: [],
  missing: null,
  definition: null,
  fields: [],
}
const HTML = '<html><head><style>p{}</style></head><body><script>1</script></body></html>'

/** The runs that were asked for. */
const chosen: string[] = []

function shown(): Shown {
  const view: View = {
    snapshot: () => ({
      saved: 1,
      hello,
      history: [],
      recent: [],
      now: null,
      ended: null,
    }),
    timeline: seconds => ({ from: 0, to: 1000 * seconds, lanes: [] }),
    gallery: async () => ({ batch: 1, epoch: 0, step: 1, reason: null, rows: [] }),
    bad: (rank, number) =>
      rank === 0 && number === 3 ? { type: 'image/png', bytes: Buffer.from('png') } : undefined,
  }
  const other: View = { ...view, snapshot: () => ({ ...view.snapshot(), saved: 7 }) }
  views = { view, other }
  return { of: run => (run !== null && chosen.push(run) > 0 && run === '7.1' ? other : view) }
}

let views: { view: View; other: View }

const servers: DashboardServer[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  chosen.length = 0
})

async function start() {
  const server = new DashboardServer(shown(), { host: '127.0.0.1', port: 0, page: pageOf(HTML) })
  servers.push(server)
  const port = await server.listen()
  const { token } = server.guard
  return { server, port, token, own: { authorization: `Bearer ${token}` } }
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

/** fetch() would not send the headers that an attacker can. */
function ask(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  { method = 'GET', body = '' } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, path, method, headers, host: '127.0.0.1' }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', part => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Writes bytes as they are, and gives what comes back. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.on('data', part => {
      text += part
      socket.end()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', () => {})
  })
}

/** Opens a stream of events. */
function listen(port: number, headers: Record<string, string>, query = '') {
  const seen = { text: '', status: 0, ended: false }
  const request = httpRequest({ port, path: `/api/events${query}`, headers, host: '127.0.0.1' }, response => {
    seen.status = response.statusCode!
    response.setEncoding('utf8').on('data', part => {
      seen.text += part
    })
    response.on('close', () => {
      seen.ended = true
    })
  })
  request.on('error', () => {
    seen.ended = true
  })
  request.end()
  return { seen, close: () => request.destroy() }
}

describe('who may ask', () => {
  test('without the token, nothing is told', async () => {
    const { port, token } = await start()
    for (const path of ['/', '/api/snapshot', '/api/events', '/api/gallery', '/api/bad/0.3', '/nothing']) {
      for (const headers of [
        {},
        { authorization: 'Bearer x' },
        { authorization: `Basic ${token}` },
        { authorization: `Bearer ${token.slice(0, -1)}` },
        { cookie: `millrace=${token}` },
      ]) {
        const { status, text } = await ask(port, path, headers as Record<string, string>)
        expect([path, status]).toEqual([path, 401])
        expect(text).not.toContain(token)
      }
    }
    expect((await ask(port, '/?token=wrong')).status).toBe(401)
    expect((await ask(port, `/api/snapshot?token=${token}`)).status).toBe(401)
  })

  test('the token in the address becomes a cookie that scripts and other sites do not get', async () => {
    const { port, token } = await start()
    const first = await ask(port, `/?token=${token}`)
    expect(first.status).toBe(200)
    const [cookie] = first.headers['set-cookie']!
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Path=\/$/)
    expect(first.text).toContain('content="0;url=/"')
    const page = await ask(port, '/', { cookie: cookie.split(';')[0] })
    expect([page.status, page.text]).toEqual([200, HTML])
    // What the address says is not taken over into the page as it stands.
    const hostile = await ask(port, `/?token=${token}&run=${encodeURIComponent('"><script>')}`)
    expect(hostile.text).not.toContain('"><script>')
  })

  test('only names of this machine are answered', async () => {
    const { port, own } = await start()
    for (const host of ['localhost', `localhost:${port}`, '127.0.0.1:9999', '[::1]:80', 'LOCALHOST'])
      expect([host, (await ask(port, '/api/snapshot', { ...own, host })).status]).toEqual([host, 200])
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
    ])
      expect([host, (await ask(port, '/api/snapshot', { ...own, host })).status]).toEqual([host, 421])
    expect((await ask(port, '/api/snapshot', { ...own, host: 'a b' })).status).toBe(400)
    expect(await raw(port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/ 400 /)
  })

  test('another site that has the cookie sent along is refused', async () => {
    const { port, token } = await start()
    const cookie = (await ask(port, `/?token=${token}`)).headers['set-cookie']![0].split(';')[0]
    for (const site of ['cross-site', 'same-site'])
      expect((await ask(port, '/api/snapshot', { cookie, 'sec-fetch-site': site })).status).toBe(403)
    const own = { cookie, host: `127.0.0.1:${port}` }
    const { headers } = await ask(port, '/api/snapshot', { ...own, origin: 'http://evil.example' })
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })
})

test('requests that are never ended don’t keep the page out', async () => {
  const { server, port, own } = await start()
  const open = listen(port, own)
  await until(() => server.streams.count === 1)
  const halves = Array.from({ length: 300 }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n'))
    socket.on('error', () => {}).resume()
    return socket
  })
  await Promise.all(halves.map(socket => new Promise(resolve => socket.once('ready', resolve))))
  expect((await ask(port, '/', own)).status).toBe(200)
  expect(open.seen.ended).toBe(false) // it has shown the token
  // Those that are left are ended after their time.
  await until(() => halves.every(({ destroyed }) => destroyed))
  open.close()
})

describe('what is answered', () => {
  test('the page runs its own script and no other', async () => {
    const { port, own } = await start()
    const { headers } = await ask(port, '/', own)
    const policy = headers['content-security-policy']!
    // echo -n 1 | openssl dgst -sha256 -binary | base64
    expect(policy).toContain("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='")
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers['x-content-type-options']).toBe('nosniff')
    const data = await ask(port, '/api/snapshot', own)
    expect(data.headers['content-security-policy']).toContain('sandbox')
  })

  test('data', async () => {
    const { port, own } = await start()
    const json = async (path: string) => JSON.parse((await ask(port, path, own)).text)
    expect(await json('/api/snapshot')).toMatchObject({
      hello,
      gallery: { batch: 1 },
      timeline: { to: 5000 },
    })
    expect(await json('/api/timeline?seconds=1e9')).toMatchObject({ to: 15_000 })
    expect(await json('/api/timeline?seconds=-3')).toMatchObject({ to: 1000 })
    expect(await json('/api/timeline?seconds=x')).toMatchObject({ to: 5000 })
    expect((await ask(port, '/api/bad/0.3', own)).headers['content-type']).toBe('image/png')
    expect((await ask(port, '/api/bad/0.4', own)).status).toBe(404)
    expect((await ask(port, '/api/bad/1.3', own)).status).toBe(404)
  })

  test('each page may ask for a run of its own; the page comes whatever it asks for', async () => {
    const { server, port, own } = await start()
    for (const run of ['7.1', '8.1', 'x'])
      expect((await ask(port, `/?run=${run}`, own)).text).toContain('<script>')
    expect(JSON.parse((await ask(port, '/api/snapshot?run=7.1', own)).text).saved).toBe(7)
    expect(JSON.parse((await ask(port, '/api/snapshot', own)).text).saved).toBe(1)
    const [first, second] = [listen(port, own), listen(port, own, '?run=7.1')]
    await until(() => server.streams.count === 2)
    server.streams.send(views.other, 'ended', { reason: 'the other', time: 1 })
    server.streams.send(views.view, 'ended', { reason: 'the first', time: 1 })
    await until(() => first.seen.text.includes('the first') && second.seen.text.includes('the other'))
    expect(first.seen.text).not.toContain('the other')
    expect(second.seen.text).not.toContain('the first')
  })

  test('paths are the ones there are, and no files', async () => {
    const { port, own } = await start()
    for (const path of [
      ...['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//etc/passwd', '/api/bad/../../etc/passwd'],
      ...['/api/bad/1e3', '/api/bad/-1', '/api/bad/99999999999', '/index.html', '/api', '/api/snapshot/'],
    ])
      expect([path, (await ask(port, path, own)).status]).toEqual([path, 404])
    const text = await raw(
      port,
      `GET http://evil.example/api/snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${own.authorization}\r\n\r\n`,
    )
    expect(text).toMatch(/ 400 /)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect((await ask(port, '/api/snapshot', own, { method })).status).toBe(405)
  })
})

describe('streams', () => {
  test('a page is told hello and history first, then what happens', async () => {
    const { server, port, own } = await start()
    const { seen, close } = listen(port, own)
    await until(() => seen.text.includes('event: history'))
    expect(seen.text).toMatch(/^event: hello\ndata: \{.*\}\n\nevent: history\ndata: \[\]\n\n/)
    server.streams.send(views.view, 'ended', { reason: 'over', time: 1 })
    await until(() => seen.text.includes('event: ended\ndata: {"reason":"over","time":1}\n\n'))
    // Scripts of a page don't see comments: that a stream lives is told as an event, run or no run.
    await until(() => /event: beat\ndata: \{"time":\d+\}\n\n/.test(seen.text))
    close()
    await until(() => server.streams.count === 0)
  })

  test('there are so many, and no more', async () => {
    const { server, port, own } = await start()
    const open = Array.from({ length: MOST_STREAMS }, () => listen(port, own))
    await until(() => server.streams.count === MOST_STREAMS)
    const { seen } = listen(port, own)
    await until(() => seen.status === 503)
    open[0].close()
    await until(() => server.streams.count === MOST_STREAMS - 1)
    const another = listen(port, own)
    await until(() => another.seen.status === 200)
    for (const { close } of [...open, another]) close()
  })

  test('a page that reads nothing does not make memory grow, and gets the newest later', async () => {
    const { server, port, own } = await start()
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${own.authorization}\r\n\r\n`)
    socket.pause()
    await until(() => server.streams.count === 1)
    const now = (step: number): Now => ({
      ranks: [],
      worst: null,
      told: null,
      bad: [],
      makers: Array.from({ length: 2000 }, (_, number) => ({
        number,
        work: {},
        wait: 0,
        idle: 1,
        cpu: null,
      })),
      tuner: { state: `step ${step}`, decisions: [] },
    })
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    // 100 kB each: 200 MB, if all of them were kept.
    for (let step = 0; step <= 2000; step++) {
      server.streams.send(views.view, 'now', now(step))
      if (step % 100 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(120e6)
    let text = ''
    socket.setEncoding('latin1').on('data', part => {
      text = (text + part).slice(-300)
    })
    socket.resume()
    await until(() => text.includes('"state":"step 2000"'))
    socket.destroy()
  })
})
