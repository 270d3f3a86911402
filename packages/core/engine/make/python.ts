/** A feed's functions in Python, as functions here: the value goes to this thread's Python process, the result comes back. */

import { isTiled } from '../../basics/array.js'
import { decodeNpy, isNpy } from '../../basics/npy/file.js'
import { type PlainArray, plainArray } from '../../basics/plain-array.js'
import type { Random } from '../../basics/random.js'
import { isPython, pythonPath } from '../../define/build/call.js'
import { pythonSources } from '../../define/check/sources.js'
import type { CallJson, NormalFeed } from '../../define/types.js'
import { pythonCommand } from '../../python/interpreter.js'
import type { Answer, PythonProcess } from '../../python/process.js'
import { holdPayload, pythonProcess } from '../../python/processes.js'
import {
  bytesOf,
  FIELD,
  keyFrom,
  type Payload,
  type Room,
  SAMPLE,
  type WireBytes,
  type WireValue,
} from '../../python/wire.js'
import { columnsOf } from '../../source/made/python.js'
import type { Column } from '../../source/source.js'
import { markSpan } from '../../spans/clock.js'
import { SpanKind } from '../../spans/span-words.js'
import type { FieldFunction, SampleFunction } from './user-functions.js'

export function needsPython(feed: NormalFeed): boolean {
  const functions = [feed.map, ...feed.fields.map(field => field.map)]
  return pythonSources(feed.source).length > 0 || functions.some(map => map && isPython(map))
}

/** Has this thread's Python processes load all that a feed needs of them. The result lets go of it again. */
export function holdPython(feed: NormalFeed): () => void {
  const released: (() => void)[] = []
  const release = (): void => {
    for (const drop of released.splice(0)) drop()
  }
  try {
    const command = commandOf(feed)
    for (const { hash, payload } of pythonSources(feed.source)) {
      released.push(holdPayload(command, { id: hash, path: payload }))
    }
    for (const map of [feed.map, ...feed.fields.map(field => field.map)]) {
      if (map && isPython(map)) released.push(holdPayload(command, payloadOf(map)))
    }
  } catch (error) {
    release()
    throw error
  }
  return release
}

/** The command of a feed's Python processes. */
function commandOf(feed: NormalFeed): readonly string[] {
  return feed.python ?? pythonCommand()
}

export function pythonFieldFunction(feed: NormalFeed, map: CallJson): FieldFunction {
  const process = pythonProcess(commandOf(feed))
  return (value, random) => {
    const cargo = new Cargo(process, FIELD)
    const call = cargo.pack(value)
    const ask = (t: number) => ({ t, payload: payloadOf(map).id, call, key: keyFrom(random) })
    return resultOf(
      process,
      timed(() => process.call('field', ask, cargo.buffers, cargo.used)),
    )
  }
}

export function pythonSampleFunction(feed: NormalFeed, map: CallJson): SampleFunction {
  const process = pythonProcess(commandOf(feed))
  return (columns: Record<string, Column>, random: Random) => {
    const cargo = new Cargo(process, SAMPLE)
    const sample = Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, cargo.packColumn(value)]),
    )
    const ask = (t: number) => ({ t, payload: payloadOf(map).id, sample, key: keyFrom(random) })
    return columnsOf(
      process,
      timed(() => process.call('sample', ask, cargo.buffers, cargo.used)),
    )
  }
}

/** Books the time of a call. */
function timed(call: () => Answer): Answer {
  markSpan(SpanKind.Transform)
  const answer = call()
  markSpan(SpanKind.Map)
  return answer
}

function payloadOf(map: CallJson): Payload {
  // Functions of one text may hold different values: only their pickles tell them apart.
  return { id: `${map.call.hash} ${pythonPath(map)}`, path: pythonPath(map) }
}

/** What is sent along with a call: in the arena, as long as there is room for it and half of the room is left. */
class Cargo {
  readonly buffers: Uint8Array[] = []
  used: number
  private readonly end: number

  constructor(
    private readonly process: PythonProcess,
    [from, to]: Room,
  ) {
    this.used = from
    this.end = (from + to) / 2
  }

  pack(value: unknown): WireValue {
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (typeof value === 'number') return { float: String(value) }
    if (typeof value === 'string') return value
    if (typeof value === 'bigint') return { json: String(value) }
    if (value instanceof Uint8Array) return { raw: this.put(value) }
    if (isArray(value) && value.dtype === 'bf16') return this.pack(widened(value))
    if (isArray(value)) return { array: this.put(value.data), dtype: value.dtype, shape: value.shape }
    return { json: JSON.stringify(value) }
  }

  /** A column of a sample: what is an .npy file is an array for the function. */
  packColumn(value: Column): WireValue {
    if (isTiled(value)) return this.pack(plainArray(value))
    return this.pack(value instanceof Uint8Array && isNpy(value) ? decodeNpy(value) : value)
  }

  private put(bytes: Uint8Array): WireBytes {
    const at = Math.ceil(this.used / 64) * 64
    if (at + bytes.length > this.end) return { buffer: this.buffers.push(bytes) - 1 }
    this.process.arena.u8.set(bytes, at)
    this.used = at + bytes.length
    return { at, bytes: bytes.length }
  }
}

/** NumPy has no bf16: Python gets float32, which holds the same values. */
function widened({ shape, data }: PlainArray): PlainArray {
  const out = new Uint8Array(2 * data.length)
  for (let i = 0; i < data.length; i += 2) out.set(data.subarray(i, i + 2), 2 * i + 2)
  return { dtype: 'f32', shape, data: out }
}

function isArray(value: unknown): value is PlainArray {
  return (
    typeof value === 'object' && value !== null && 'dtype' in value && 'shape' in value && 'data' in value
  )
}

/** What a field's function gave: an array where it gave one. */
function resultOf(process: PythonProcess, { reply, buffers }: Answer): unknown {
  if (reply.error !== undefined) throw new Error(reply.error)
  const { value } = reply
  const bytes = bytesOf(value)
  if (bytes !== undefined) {
    const view =
      'buffer' in bytes ? buffers[bytes.buffer] : process.arena.u8.subarray(bytes.at, bytes.at + bytes.bytes)
    return typeof value === 'object' && 'npy' in value ? decodeNpy(view) : view
  }
  if (typeof value !== 'object') return value
  return 'float' in value ? Number(value.float) : 'json' in value ? JSON.parse(value.json) : undefined
}
