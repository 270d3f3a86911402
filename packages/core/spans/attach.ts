/** The spans of another process. It may be killed at any time: what it had written stays, for a process that is attached. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { MillraceError } from '../basics/errors.js'
import { SpanReader } from './reader.js'
import { SPANS_NAME } from './span-words.js'

/** A process that writes spans, and where they are. */
export interface SpanWriter {
  pid: number
  path: string
}

/** Spans of another process, or of this one. `close` lets go of their memory. */
export class AttachedSpans extends SpanReader {
  constructor(
    private readonly fd: number,
    path: string,
  ) {
    super({ read: (at, bytes) => readAt(fd, at, bytes) }, path)
  }

  close(): void {
    closeSync(this.fd)
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/**
 * Attaches to the spans of a process: by its number, or by the path that `opened.spans` of the protocol and
 * `spanWriters()` give. Only processes of the same user, or of all for root.
 */
export function attachSpans(where: number | string): AttachedSpans {
  const path = typeof where === 'string' ? where : pathOf(where)
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) // a named pipe would make us wait
  } catch (error) {
    throw new MillraceError(`can't open the spans at ${path}: ${(error as Error).message}`)
  }
  try {
    if (!fstatSync(fd).isFile()) throw new MillraceError(`${path} holds no spans of Millrace`)
    return new AttachedSpans(fd, path)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** The processes that write spans, as far as this user may look into them. */
export function spanWriters(): SpanWriter[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return pids.flatMap(name => spansOf(Number(name)).map(path => ({ pid: Number(name), path })))
}

function pathOf(pid: number): string {
  const [path] = spansOf(pid)
  if (path !== undefined) return path
  throw new MillraceError(
    `process ${pid} writes no spans, or is not yours to look into: spanWriters() lists those that do`,
  )
}

/** Memory of spans that a process writes. One that is attached to it has such a descriptor, too. */
function spansOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    const paths = readdirSync(folder).map(fd => `${folder}/${fd}`)
    const found = paths.filter(path => isSpans(path) && writes(pid, path))
    // Python has several descriptors of one memory.
    return [...new Map(found.map(path => [statSync(path).ino, path])).values()]
  } catch {
    return [] // it has ended, or is another user's
  }
}

function isSpans(path: string): boolean {
  try {
    return readlinkSync(path).startsWith(`/memfd:${SPANS_NAME}`)
  } catch {
    return false
  }
}

/** Whether the file's head names the process as its writer. */
function writes(pid: number, path: string): boolean {
  try {
    const spans = attachSpans(path)
    spans.close()
    return spans.pid === pid
  } catch {
    return false
  }
}

/** What is not there is zeros. */
function readAt(fd: number, at: number, bytes: number): Uint8Array {
  const into = new Uint8Array(bytes)
  for (let got = 0; got < bytes; ) {
    const more = readSync(fd, into, got, bytes - got, at + got)
    if (more === 0) break
    got += more
  }
  return into
}
