/** A small server that plays a scene to the page, with the same headers as the real one. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Events, Gallery, Recent, Snapshot } from '../../../dashboard/view.js'
import type { RunRecord } from '../../../live/record.js'
import { gallery } from './feed.js'
import { timelineOf } from './looks.js'
import type { Scene } from './scenes.js'

const PAGE = new URL('../../../../../dist/observe/page/index.html', import.meta.url)

export interface Played {
  url: string
  /** Pages whose streams are open. */
  readonly listeners: number
  /** Tells all who listen. */
  tell<K extends keyof Events>(name: K, data: Events[K]): void
  /** Tells the next second. */
  second(): void
  /** Ends all streams, and takes no new ones until `mend`. */
  breakOff(): void
  mend(): void
  close(): Promise<void>
}

export async function play(scene: Scene): Promise<Played> {
  const page = readFileSync(PAGE, 'utf8')
  const streams = new Set<ServerResponse>()
  let [broken, second] = [false, 0]
  const rows = await gallery()
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page')
    const json = (data: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(data))
    }
    if (pathname === '/') {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policyOf(page),
      })
      return response.end(page)
    }
    if (searchParams.get('token') !== 'secret') return json({ error: 'no token' }, 403)
    if (broken) return response.destroy()
    if (pathname === '/api/events') return stream(response)
    if (pathname === '/api/timeline' && scene.looked !== null)
      return json(timelineOf(scene.looked, Number(searchParams.get('seconds'))))
    if (pathname === '/api/gallery') return json(rows)
    if (pathname === '/api/snapshot') return json(snapshot(rows))
    if (pathname.startsWith('/api/bad/')) {
      response.writeHead(200, { 'content-type': 'image/png' })
      return response.end(Buffer.from(rows.rows[0].pictures.image.split(',')[1], 'base64'))
    }
    json({ error: 'there is no such thing' }, 404)
  }
  const stream = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    streams.add(response)
    response.on('close', () => streams.delete(response))
    write(response, 'hello', scene.hello)
    write(response, 'history', scene.history)
    write(response, 'recent', recent())
    if (scene.nows.length > 0) write(response, 'now', now())
    if (scene.ended !== null) write(response, 'ended', scene.ended)
  }
  // The seconds before the first.
  const recent = (): Recent =>
    scene.nows.slice(-9).map(({ ranks }) => ({ ranks: ranks.map(earlier(20_000)) }))
  const now = () => scene.nows[second % scene.nows.length]
  const snapshot = (gallery: Gallery): Snapshot => ({
    saved: Date.now(),
    hello: scene.hello,
    history: scene.history,
    now: now() ?? null,
    recent: recent(),
    ended: scene.ended,
    gallery,
    timeline: scene.looked === null ? null : timelineOf(scene.looked, 3),
  })
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const tell: Played['tell'] = (name, data) => {
    for (const response of streams) write(response, name, data)
  }
  const played: Played = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=secret`,
    get listeners() {
      return streams.size
    },
    tell,
    second: () => {
      second++
      tell('now', now())
    },
    breakOff: () => {
      broken = true
      for (const response of streams) response.destroy()
    },
    mend: () => {
      broken = false
    },
    close: () => end(server),
  }
  return played
}

const earlier = (by: number) => (record: RunRecord) => ({ ...record, time: record.time - by })

function write(response: ServerResponse, name: string, data: unknown): void {
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
}

function end(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** The policy of the real server, with hashes of what the page really has. */
function policyOf(page: string): string {
  const hash = (tag: string) => {
    const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page)?.[1] ?? ''
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  return `default-src 'none'; script-src ${hash('script')}; style-src ${hash('style')}; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}
