/**
 * The server of the page: node:http, a few exact paths, and no file of the disk but the page's own. What is shown comes from
 * `Shown` (requests.ts), which tests fill with what they like.
 */

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { MillraceError } from '../../../core/basics/errors.js'
import { Guard } from './guard.js'
import type { Shown, View } from './requests.js'
import { eventText, Streams } from './streams.js'

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
/** Connections at once; and those that have not shown the token: the oldest of them makes room for a new one. */
const MOST_CONNECTIONS = 256
const MOST_STRANGERS = 64
/** How long a request and its headers may take, and how often that is looked at (ms). */
const TIMES = { requestTimeout: 30_000, headersTimeout: 5000, connectionsCheckingInterval: 1000 }
/** Seconds of a timeline and rows of a gallery, unless told otherwise, and at most. */
const SECONDS = 5
const ROWS = 16
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
/** Of which the paths are that are asked for. */
const HERE = 'http://dashboard'
/** For all that is no page: should a browser show it as one, it can do nothing. */
const NO_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

export class DashboardServer {
  readonly streams = new Streams()
  readonly guard: Guard
  private readonly server: Server
  private readonly page: Page
  /** Connections that have not shown the token yet, the oldest first: they must not keep the page's own out. */
  private readonly strangers = new Set<Socket>()

  constructor(
    private readonly shown: Shown,
    private readonly options: ServeOptions,
  ) {
    this.guard = new Guard(options.host, options.token)
    this.page = options.page ?? loadPage()
    this.server = createServer(TIMES, (request, response) => {
      void this.answer(request, response).catch(error => this.failed(response, error))
    })
    this.server.maxConnections = MOST_CONNECTIONS
    this.server.on('connection', socket => this.meet(socket))
  }

  /** Resolves with the port. */
  async listen(): Promise<number> {
    const { host, port } = this.options
    const ports = port === undefined ? Array.from({ length: TRIED }, (_, i) => PORT + i) : [port]
    for (const one of ports) {
      const problem = await this.tryPort(host, one)
      if (problem === undefined) return (this.server.address() as AddressInfo).port
      if (problem.code !== 'EADDRINUSE' || port !== undefined)
        throw new MillraceError(
          problem.syscall === 'getaddrinfo' || problem.code === 'EADDRNOTAVAIL'
            ? `can't listen at --host ${host}: ${problem.message}. Give a name or an address of this machine`
            : `can't listen at ${host} port ${one}: ${problem.message}. Give another --port, or none: then the next free one is taken`,
        )
    }
    throw new MillraceError(`ports ${PORT} to ${PORT + TRIED - 1} are all in use: give --port`)
  }

  close(): void {
    this.streams.close()
    this.server.close()
    this.server.closeAllConnections()
  }

  private meet(socket: Socket): void {
    this.strangers.add(socket)
    socket.on('close', () => this.strangers.delete(socket))
    if (this.strangers.size <= MOST_STRANGERS) return
    const [oldest] = this.strangers
    this.strangers.delete(oldest)
    oldest.destroy()
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
    const answer = await this.answerTo(request, response)
    if (answer !== STREAMS) send(response, answer)
  }

  private answerTo(request: IncomingMessage, response: ServerResponse): Answered | Promise<Answered> {
    const asked = request.url ?? ''
    if (!asked.startsWith('/') || !URL.canParse(asked, HERE)) return refusal(400, 'a broken address')
    const url = new URL(asked, HERE)
    const token = url.searchParams.get('token')
    const isFirst = token !== null && url.pathname === '/' && request.method === 'GET'
    // As if it had come from a program: all else is checked.
    if (isFirst) request.headers.authorization = `Bearer ${token}`
    const refused = this.guard.refuse(request)
    if (refused !== undefined) return refusal(refused.status, refused.text)
    this.strangers.delete(request.socket)
    if (isFirst) return this.welcome(url)
    if (request.method === 'GET' || request.method === 'HEAD') return this.show(url, response)
    return { ...refusal(405, `${request.method} is not answered here`), headers: { Allow: 'GET, HEAD' } }
  }

  /**
   * The first request, with the token in its address: the browser keeps it as a cookie, and loads the page without it. A
   * redirect would not do: after a link of another site (a terminal in a browser) the cookie is not sent along.
   */
  private welcome(url: URL): Answer {
    const run = url.searchParams.get('run')
    const next = run === null ? '/' : `/?run=${encodeURIComponent(run)}`
    const refresh = `<meta http-equiv="refresh" content="0;url=${next}">`
    const page = message('millrace dashboard', `<a href="${next}">Open the dashboard</a>`, refresh)
    const answer = htmlOf(pageOf(page))
    return { ...answer, headers: { ...answer.headers, 'Set-Cookie': this.guard.cookie } }
  }

  private show(
    { pathname, searchParams: query }: URL,
    response: ServerResponse,
  ): Answered | Promise<Answered> {
    // Whatever run its address asks for: the page says what became of it.
    if (pathname === '/') return htmlOf(this.page)
    const view = this.shown.of(query.get('run'))
    const bad = /^\/api\/bad\/(\d{1,7})\.(\d{1,9})$/.exec(pathname)
    if (bad !== null) return pictureOf(view.bad(Number(bad[1]), Number(bad[2])))
    switch (pathname) {
      case '/api/events':
        return this.stream(view, response)
      case '/api/snapshot':
        return whole(view)
      case '/api/timeline':
        return jsonOf(view.timeline(within(query.get('seconds'), SECONDS, MOST_SECONDS)))
      case '/api/gallery':
        return view
          .gallery(Math.round(within(query.get('rows'), ROWS, MOST_ROWS)))
          .then(found => jsonOf(found))
      default:
        return refusal(404, 'there is nothing here')
    }
  }

  private stream(view: View, response: ServerResponse): Answered {
    const { hello, history, recent, now, ended } = view.snapshot()
    const first = [
      eventText('hello', hello),
      eventText('history', history),
      eventText('recent', recent),
      ...(now ? [eventText('now', now)] : []),
      ...(ended ? [eventText('ended', ended)] : []),
    ]
    if (this.streams.add(response, view, first)) return STREAMS
    return refusal(503, 'too many pages of this dashboard are open: close one')
  }

  private failed(response: ServerResponse, error: unknown): void {
    if (response.headersSent) {
      response.destroy()
      return
    }
    const known = error instanceof MillraceError
    if (!known) process.stderr.write(`millrace dashboard: ${(error as Error).stack}\n`)
    send(response, known ? refusal(409, error.message) : refusal(500, 'this failed, for a reason of our own'))
  }
}

interface Answer {
  status: number
  type: string
  body: string | Uint8Array
  headers?: Record<string, string>
}

/** A stream of events goes on answering. */
const STREAMS = Symbol('streams')
type Answered = Answer | typeof STREAMS

function send(response: ServerResponse, { status, type, body, headers }: Answer): void {
  response.writeHead(status, {
    'Content-Security-Policy': NO_POLICY,
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}

function refusal(status: number, error: string): Answer {
  return jsonOf({ error }, status)
}

function jsonOf(data: object, status = 200): Answer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(data) }
}

function htmlOf({ html, policy }: Page): Answer {
  return {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: html,
    headers: { 'Content-Security-Policy': policy },
  }
}

function pictureOf(found: { type: string; bytes: Uint8Array } | undefined): Answer {
  if (found === undefined) return refusal(404, 'there is no such picture, or it can’t be read')
  return { status: 200, type: found.type, body: found.bytes }
}

/** All that a saved page shows. */
async function whole(view: View): Promise<Answer> {
  const gallery = await view.gallery(ROWS)
  return jsonOf({ ...view.snapshot(), timeline: view.timeline(SECONDS), gallery })
}

function within(text: string | null, usual: number, most: number): number {
  const number = text === null ? usual : Number(text)
  return Number.isFinite(number) ? Math.min(most, Math.max(1, number)) : usual
}

interface Page {
  html: string
  /** Value of the Content-Security-Policy header. */
  policy: string
}

/** Where the build puts it. */
const PAGE_FILE = fileURLToPath(new URL('../../page/index.html', import.meta.url))

const MISSING = message(
  'The page is missing',
  'This Millrace was built without the page of its dashboard: <code>npm run build</code> makes it. What it would show can be read ' +
    'at <a href="/api/snapshot">/api/snapshot</a>.',
)

function loadPage(file = PAGE_FILE): Page {
  return pageOf(existsSync(file) ? readFileSync(file, 'utf8') : MISSING)
}

/** A page that says one thing. */
function message(title: string, html: string, head = ''): string {
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title} · millrace</title>${head}` +
    '<style>body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:40rem;padding:0 1rem}' +
    '@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}</style></head>' +
    `<body><h1>${title}</h1><p>${html}</p></body></html>`
  )
}

/** Nothing is loaded from elsewhere, nothing is sent elsewhere, and no other page may hold this one in a frame. */
export function pageOf(html: string): Page {
  const scripts = hashesOf(html, 'script')
  const styles = hashesOf(html, 'style')
  const policy = [
    "default-src 'none'",
    `script-src ${scripts || "'none'"}`,
    `style-src ${styles || "'none'"}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { html, policy }
}

function hashesOf(html: string, tag: 'script' | 'style'): string {
  const found = html.matchAll(new RegExp(`<${tag}\\b[^>]*>([\\s\\S]*?)</${tag}>`, 'g'))
  const hashes = [...found].map(
    ([, text]) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  )
  return [...new Set(hashes)].join(' ')
}
