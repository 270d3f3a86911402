/**
 * The server of the page: node:http, a few exact paths, and no file of the disk but the page's own. What is shown comes from
 * `Shown`, which the tests fill with what they like.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MillraceError } from '../../basics/errors.js'
import type { Alert, Gallery, Hello, HistoryPoint, Now, Timeline } from '../view.js'
import { Guard } from './guard.js'
import { loadPage, message, type Page, pageOf } from './page.js'
import { eventText, Streams } from './streams.js'

/** What `GET /api/snapshot` gives: all that a saved page needs. */
export interface Snapshot {
  saved: number
  hello: Hello
  history: HistoryPoint[]
  now: Now | null
  alerts: Alert[]
  ended: { reason: string } | null
  timeline: Timeline | null
  gallery: Gallery | null
}

export interface Setting {
  workers?: number
  depth?: number
  /** It stays when the dashboard ends. */
  keep?: boolean
  /** Sets back what was set before. */
  undo?: boolean
}

/** What the server shows, and what it may do. Methods that throw a MillraceError are answered with its message. */
export interface Shown {
  /** What a page is told first; `whole`: with timeline and gallery, for a file. */
  snapshot(whole: boolean): Snapshot
  timeline(seconds: number): Timeline
  gallery(rows: number): Gallery
  /** The bytes of a bad sample's picture, and their type. */
  bad(number: number): { type: string; bytes: Uint8Array } | undefined
  /** Another run is looked at from now on: TRAINER.RING, or ENGINE:RING. */
  choose(run: string): boolean
  /** Undefined: nothing may be changed. */
  control?: {
    set(setting: Setting): Promise<object>
    diagnose(): Promise<object>
  }
}

export interface ServeOptions {
  host: string
  /** The port; undefined: the usual one, or the next that is free. */
  port?: number
  token?: string
  page?: Page
}

/** The usual port, and how many behind it are tried. */
const PORT = 4680
const TRIED = 100
/** Bytes of a request's body at most. */
const MOST_BODY = 16 * 1024
/** Connections at once. */
const MOST_CONNECTIONS = 128
/** Seconds of a timeline, and rows of a gallery, at most. */
const MOST_SECONDS = 15
const MOST_ROWS = 64

const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
}
/** For all that is no page: should a browser show it as one, it can do nothing. */
const NO_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

export class DashboardServer {
  readonly streams = new Streams()
  readonly guard: Guard
  private readonly server: Server
  private readonly page: Page

  constructor(
    private readonly shown: Shown,
    private readonly options: ServeOptions,
  ) {
    this.guard = new Guard(options.host, options.token)
    this.page = options.page ?? loadPage()
    this.server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, (request, response) => {
      void this.answer(request, response).catch(error => this.failed(response, error))
    })
    this.server.maxConnections = MOST_CONNECTIONS
  }

  /** Resolves with the port. */
  async listen(): Promise<number> {
    const { host, port } = this.options
    const ports = port === undefined ? Array.from({ length: TRIED }, (_, i) => PORT + i) : [port]
    for (const one of ports) {
      const problem = await this.tryPort(host, one)
      if (problem === undefined) return (this.server.address() as AddressInfo).port
      if (problem.code !== 'EADDRINUSE' || port !== undefined)
        throw new MillraceError(`can't listen at ${host} port ${one}: ${problem.message}`)
    }
    throw new MillraceError(`ports ${PORT} to ${PORT + TRIED - 1} are all in use: give --port`)
  }

  close(): void {
    this.streams.close()
    this.server.close()
    this.server.closeAllConnections()
  }

  private tryPort(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
    return new Promise(resolve => {
      const failed = (error: NodeJS.ErrnoException) => resolve(error)
      this.server.once('error', failed)
      this.server.listen(port, host, () => {
        this.server.off('error', failed)
        resolve(undefined)
      })
    })
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
    response.setHeader('Content-Security-Policy', NO_POLICY)
    const url = URL.parse(request.url ?? '', 'http://dashboard')
    if (url === null || !request.url?.startsWith('/')) return this.say(response, 400, 'a broken address')
    const token = url.searchParams.get('token')
    if (token !== null && url.pathname === '/' && request.method === 'GET') {
      // As if it had come with the cookie: all else is checked.
      request.headers.authorization = `Bearer ${token}`
      const refused = this.guard.refuse(request)
      if (refused === undefined) return this.welcome(url, response)
    }
    const refused = this.guard.refuse(request)
    if (refused !== undefined) return this.say(response, refused.status, refused.text)
    if (request.method === 'POST') return this.change(url.pathname, request, response)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD, POST')
      return this.say(response, 405, `${request.method} is not answered here`)
    }
    this.show(url, response)
  }

  /**
   * The first request, with the token in its address: the browser keeps it as a cookie, and loads the page without it. A
   * redirect would not do: after a link of another site (a terminal in a browser) the cookie is not sent along.
   */
  private welcome(url: URL, response: ServerResponse): void {
    const run = url.searchParams.get('run')
    const next = run === null ? '/' : `/?run=${encodeURIComponent(run)}`
    const refresh = `<meta http-equiv="refresh" content="0;url=${next}">`
    response.setHeader('Set-Cookie', this.guard.cookie)
    this.html(
      response,
      pageOf(message('millrace dashboard', `<a href="${next}">Open the dashboard</a>`, refresh)),
    )
  }

  private show(url: URL, response: ServerResponse): void {
    const { pathname, searchParams } = url
    const bad = /^\/api\/bad\/(\d{1,6})$/.exec(pathname)
    if (bad !== null) return this.picture(response, Number(bad[1]))
    switch (pathname) {
      case '/':
        return this.chosen(searchParams, response) ? this.html(response, this.page) : undefined
      case '/api/events':
        return this.chosen(searchParams, response) ? this.stream(response) : undefined
      case '/api/snapshot':
        return this.json(response, this.shown.snapshot(true))
      case '/api/timeline':
        return this.json(response, this.shown.timeline(within(searchParams.get('seconds'), 5, MOST_SECONDS)))
      case '/api/gallery':
        return this.json(
          response,
          this.shown.gallery(Math.round(within(searchParams.get('rows'), 16, MOST_ROWS))),
        )
      default:
        this.say(response, 404, 'there is nothing here')
    }
  }

  /** Whether the run that is asked for is there; it is shown from now on. */
  private chosen(query: URLSearchParams, response: ServerResponse): boolean {
    const run = query.get('run')
    if (run === null || this.shown.choose(run)) return true
    this.say(response, 404, `there is no run ${run.slice(0, 40)} here`)
    return false
  }

  private stream(response: ServerResponse): void {
    const { hello, history, now, alerts, ended } = this.shown.snapshot(false)
    const first = [
      eventText('hello', hello),
      eventText('history', history),
      ...(now ? [eventText('now', now)] : []),
      ...alerts.map(alert => eventText('alert', alert)),
      ...(ended ? [eventText('ended', ended)] : []),
    ]
    if (!this.streams.add(response, first))
      this.say(response, 503, 'too many pages of this dashboard are open: close one')
  }

  private async change(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path !== '/api/set' && path !== '/api/diagnose')
      return this.say(response, 404, 'there is nothing here')
    const { control } = this.shown
    if (control === undefined)
      return this.say(response, 403, 'nothing may be changed: start `millrace dashboard` with --control')
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
      return this.say(response, 415, 'the body must be JSON, and say so (Content-Type: application/json)')
    const body = await bodyOf(request)
    if (body === undefined) {
      response.setHeader('Connection', 'close')
      return this.say(response, 413, `a body has ${MOST_BODY} bytes at most`)
    }
    if (path === '/api/diagnose') return this.json(response, await control.diagnose())
    this.json(response, await control.set(settingOf(body)))
  }

  private picture(response: ServerResponse, number: number): void {
    const found = this.shown.bad(number)
    if (found === undefined) return this.say(response, 404, 'there is no such picture, or it can’t be read')
    response.writeHead(200, { 'Content-Type': found.type, 'Content-Length': found.bytes.length })
    response.end(found.bytes)
  }

  private html(response: ServerResponse, { html, policy }: Page): void {
    response.setHeader('Content-Security-Policy', policy)
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' })
    response.end(html)
  }

  private json(response: ServerResponse, data: object): void {
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify(data))
  }

  private say(response: ServerResponse, status: number, text: string): void {
    const api = response.req.url?.startsWith('/api/')
    response.writeHead(status, {
      'Content-Type': `${api ? 'application/json' : 'text/plain'}; charset=utf-8`,
    })
    response.end(api ? JSON.stringify({ error: text }) : `${text}\n`)
  }

  private failed(response: ServerResponse, error: unknown): void {
    if (response.headersSent) return void response.destroy()
    const known = error instanceof MillraceError
    if (!known) process.stderr.write(`millrace dashboard: ${(error as Error).stack}\n`)
    this.say(response, known ? 409 : 500, known ? error.message : 'this failed, for a reason of our own')
  }
}

/** Undefined: it is too long. What is left of it is not read. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MOST_BODY) return undefined
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MOST_BODY) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Only what is known, and only of the right type. */
function settingOf(body: string): Setting {
  let given: unknown
  try {
    given = JSON.parse(body)
  } catch {
    throw new MillraceError('the body is no JSON')
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new MillraceError('the body must be an object: {"workers": 4, "depth": 8}')
  const setting: Setting = {}
  for (const [name, value] of Object.entries(given)) {
    if (name === 'workers' || name === 'depth') {
      if (!Number.isInteger(value) || value < 1 || value > 65536)
        throw new MillraceError(`${name}: expected a whole number from 1 on`)
      setting[name] = value
    } else if (name === 'keep' || name === 'undo') {
      if (typeof value !== 'boolean') throw new MillraceError(`${name}: expected true or false`)
      setting[name] = value
    } else throw new MillraceError(`${name.slice(0, 40)} can't be set: workers and depth can`)
  }
  return setting
}

function within(text: string | null, usual: number, most: number): number {
  const number = text === null ? usual : Number(text)
  return Number.isFinite(number) ? Math.min(most, Math.max(1, number)) : usual
}
