/**
 * The server: feeds other processes through a Unix socket (docs/protocol.md). It ends with its last client, or with the process that started it.
 */
import { chmodSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { MillraceError } from '../../basics/errors.js'
import type { Binding } from '../../engine/bind/policy.js'
import { makeFolder } from '../../system/files/folder.js'
import { within } from '../../system/process/exit.js'
import { startTime } from '../../system/process/proc.js'
import { HEARTBEAT } from '../protocol-facts.js'
import { readRequest } from './request.js'
import { type ServerContext, Session } from './session.js'

/** How long the server waits for its first client, and for another one after the last has left (ms). */
const FIRST_CLIENT = 10_000
const NEXT_CLIENT = 1000
/** How long the rings of clients that are left may take to end, when the server does (ms). */
const LEAVING = 500
/** A request longer than this is no request: definitions with long lists of indices are the longest. */
const LONGEST = 64 * 2 ** 20
const NEWLINE = 10

export interface ServeOptions {
  socket: string
  find: ServerContext['find']
  /** Clients may have the engine run code: of feeds that they vouch for. */
  allowCode?: boolean
  /** URLs of plugins, which are loaded: every client may name their sources. */
  plugins?: readonly string[]
  /** The cores that workers run on, where no client says so. */
  affinity?: Binding
  /** Process without which the server has no reason to live. */
  starter?: number
  version: string
  /** Called when clients may come. */
  listens?: () => void
  /** Goes on without clients until it is told to end. */
  stay?: boolean
}

/** Serves until no client and no starter needs it any more. Resolves when everything is given back. */
export async function serve(options: ServeOptions): Promise<void> {
  const sessions = new Map<Socket, Session>()
  const { find, version, allowCode = false, plugins = [], affinity } = options
  const context: ServerContext = { find, version, allowCode, plugins, affinity, shared: new Map() }
  const starter = options.starter === undefined ? undefined : startTime(options.starter)
  let patience = performance.now() + FIRST_CLIENT

  const leave = async (socket: Socket): Promise<void> => {
    const session = sessions.get(socket)
    sessions.delete(socket)
    patience = performance.now() + NEXT_CLIENT
    await session?.close()
  }
  const server = createServer(socket => {
    const say = (message: object): void => {
      if (socket.writable) socket.write(`${JSON.stringify(message)}\n`)
    }
    const session = new Session(context, say)
    sessions.set(socket, session)
    readLines(socket, line => {
      const request = readRequest(line)
      if (request.close) socket.destroySoon()
      else void session.hear(request)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => void leave(socket))
  })
  await listen(server, options.socket)
  options.listens?.()
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      for (const [socket, session] of sessions) {
        try {
          session.watch()
        } catch (error) {
          // A ring that makes no sense ends by itself; others go on.
          session.fail(error as Error)
          socket.destroySoon()
        }
      }
      const abandoned = !options.stay && sessions.size === 0 && performance.now() > patience
      // Undefined at first: it had died before we looked.
      const orphaned =
        options.starter !== undefined && (starter === '' || startTime(options.starter) !== starter)
      if (!abandoned && !orphaned) return
      clearInterval(timer)
      resolve()
    }, HEARTBEAT)
  })
  server.close()
  rmSync(options.socket, { force: true })
  const left = Promise.all([...sessions.keys()].map(socket => leave(socket).finally(() => socket.destroy())))
  await within(left, LEAVING)
}

/** Bytes of a socket's path on Linux; Node cuts off what is beyond, and listens elsewhere. */
const PATH_BYTES = 107

/** Listens at a path that only this user can reach. */
async function listen(server: Server, path: string): Promise<void> {
  const bytes = Buffer.byteLength(path)
  if (bytes > PATH_BYTES)
    throw new MillraceError(
      `can't listen at ${path}: its ${bytes} bytes are more than the ${PATH_BYTES} of a socket's path: take a shorter one`,
    )
  makeFolder(dirname(path), 0o700)
  const before = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, resolve)
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'EADDRINUSE' ? 'something is there already: another engine, or a file left behind' : message
    throw new MillraceError(`can't listen at ${path}: ${why}`)
  } finally {
    process.umask(before)
  }
  if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600)
}

/** Calls `hear` with every line. What is no request, or never ends, ends the connection. */
function readLines(socket: Socket, hear: (line: string) => void): void {
  /** A line that is not complete yet, as it came: joined once, when it is. */
  let parts: Buffer[] = []
  let length = 0
  const refuse = (message: string): void => {
    parts = []
    socket.removeAllListeners('data')
    socket.resume() // what is still coming is read and forgotten, so that the answer arrives
    socket.end(`${JSON.stringify({ error: { tag: 'Protocol', message } })}\n`)
  }
  socket.on('data', (data: Buffer) => {
    for (let from = 0; from < data.length; ) {
      const end = data.indexOf(NEWLINE, from)
      const part = data.subarray(from, end < 0 ? data.length : end)
      parts.push(part)
      length += part.length
      if (length > LONGEST)
        return refuse(`a request has ${LONGEST / 2 ** 20} MiB at most: put long lists into a file`)
      if (end < 0) return
      const line = parts.length === 1 ? part : Buffer.concat(parts, length)
      parts = []
      length = 0
      from = end + 1
      try {
        hear(line.toString())
      } catch (error) {
        return refuse((error as Error).message)
      }
    }
  })
}
