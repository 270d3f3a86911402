/**
 * Who may ask. Every request needs the token: in the address the first time, as a cookie after that, or in a header (programs).
 * The name in the Host header must be one of ours: a page of another site that has its own name point to 127.0.0.1 (DNS
 * rebinding) is refused by that.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { hostname } from 'node:os'

/** Bytes of a token. */
const TOKEN_BYTES = 32

/** Names of this machine for itself. */
const LOCAL = ['localhost', '127.0.0.1', '::1']

/** Why a request is refused; undefined: it is not. */
export interface Refusal {
  status: 400 | 401 | 403 | 421
  text: string
}

export class Guard {
  readonly token: string
  private readonly digest: Buffer
  /** Browsers have one set of cookies for all ports of a machine: each dashboard has a name of its own. */
  private readonly cookieName: string
  private readonly names: ReadonlySet<string>

  /** `host`: where it listens. */
  constructor(host: string, token = randomBytes(TOKEN_BYTES).toString('base64url')) {
    this.token = token
    this.digest = digestOf(token)
    this.cookieName = `millrace-${this.digest.toString('hex').slice(0, 8)}`
    const everywhere = host === '0.0.0.0' || host === '::'
    const own = everywhere || !LOCAL.includes(host) ? [host, hostname()] : []
    this.names = new Set([...LOCAL, ...own].map(name => name.toLowerCase()))
  }

  /** The header that makes a browser keep the token. */
  get cookie(): string {
    return `${this.cookieName}=${this.token}; HttpOnly; SameSite=Strict; Path=/`
  }

  /** Whether a text is the token. Takes as long for each text. */
  isToken(text: string | null | undefined): boolean {
    return typeof text === 'string' && timingSafeEqual(digestOf(text), this.digest)
  }

  refuse(request: IncomingMessage): Refusal | undefined {
    const { headers } = request
    const name = nameIn(headers.host)
    if (name === undefined) return { status: 400, text: 'the request has no Host header, or a broken one' }
    // An address in digits can't be pointed elsewhere: the one at which the request came in is ours.
    if (!this.names.has(name) && name !== plain(request.socket.localAddress))
      return {
        status: 421,
        text: `this is no name of the dashboard: ${name}. Open it by the address that it printed`,
      }
    const site = headers['sec-fetch-site']
    const byProgram = this.isToken(bearerOf(headers.authorization))
    if (!byProgram && !this.isToken(this.cookieOf(headers.cookie)))
      return {
        status: 401,
        text: 'this needs the token: open the address that `millrace dashboard` printed',
      }
    const foreign = site !== undefined && site !== 'same-origin' && site !== 'none'
    if (foreign && !byProgram)
      return { status: 403, text: 'another site asks for this: open the dashboard by its own address' }
    return undefined
  }

  private cookieOf(header: string | undefined): string | undefined {
    const parts = header?.split(';').map(part => part.trim().split('='))
    return parts?.find(([name]) => name === this.cookieName)?.[1]
  }
}

/** The name in a Host header, without port and brackets. */
function nameIn(host: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? '')
  return match === null ? undefined : (match[1] ?? match[2]).toLowerCase()
}

/** Addresses of the fourth version may be told as ones of the sixth. */
function plain(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:/, '').toLowerCase()
}

function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer (\S+)$/.exec(header ?? '')?.[1]
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
