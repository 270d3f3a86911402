/** What may be asked of the server: what it shows, and what it may change. Bodies of requests are read and checked here. */
import type { IncomingMessage } from 'node:http'
import { MillraceError } from '../../basics/errors.js'
import type { Gallery, Snapshot as Saved, Timeline } from '../view.js'

/** Bytes of a request's body at most. */
export const MOST_BODY = 16 * 1024
/** The most that workers or depth could ever be: the engine knows better. */
const MOST = 65536

/** What a page is told first: `GET /api/snapshot` adds the timeline and the gallery. */
export type Snapshot = Omit<Saved, 'timeline' | 'gallery'>

export interface Setting {
  workers?: number
  depth?: number
  /** It stays when the dashboard ends. */
  keep?: boolean
  /** Sets back what was set before. */
  undo?: boolean
}

/** The runs that can be looked at. */
export interface Shown {
  /** One of them, as TRAINER.RING or ENGINE:RING; null: the one that the dashboard chose. One that is not here has nothing to show. */
  of(run: string | null): View
}

/** A run that is looked at, and what may be done. Methods that throw a MillraceError are answered with its message. */
export interface View {
  snapshot(): Snapshot
  timeline(seconds: number): Timeline
  gallery(rows: number): Promise<Gallery>
  /** The bytes of a bad sample's picture, and their type. */
  bad(rank: number, number: number): { type: string; bytes: Uint8Array } | undefined
  /** Undefined: nothing may be changed. */
  control?: {
    set(setting: Setting): Promise<object>
    diagnose(): Promise<object>
  }
}

/** Undefined: it is too long. What is left of it is not read. */
export async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
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
export function settingOf(body: string): Setting {
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
      if (!Number.isInteger(value) || value < 1 || value > MOST)
        throw new MillraceError(`${name}: expected a whole number from 1 on`)
      setting[name] = value
    } else if (name === 'keep' || name === 'undo') {
      if (typeof value !== 'boolean') throw new MillraceError(`${name}: expected true or false`)
      setting[name] = value
    } else throw new MillraceError(`${name.slice(0, 40)} can't be set: workers and depth can`)
  }
  return setting
}
