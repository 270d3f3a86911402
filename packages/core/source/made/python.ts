/**
 * A user's dataset in Python. The maker asks its own Python process for rows; nothing is read here, so `need` adds nothing. It
 * asks for all rows of a claim together, and puts the first into the slot while Python makes the others. Numbers and text
 * come as they are, bytes in shared memory, arrays as .npy.
 *
 * An iterable has no rows, only an order: the process goes through it from the beginning, and again for every epoch and for
 * every step back. Only one maker serves such a source.
 */

import { createHash } from 'node:crypto'
import type { Random } from '../../basics/random.js'
import type { PythonJson } from '../../define/types.js'
import { pythonCommand } from '../../python/interpreter.js'
import type { Answer, PythonProcess } from '../../python/process.js'
import { holdPayload, pythonProcess } from '../../python/processes.js'
import { bytesOf, keyFrom } from '../../python/wire.js'
import { markSpan } from '../../spans/clock.js'
import { SpanKind } from '../../spans/span-words.js'
import type { Columns, Manifest, SourceKind } from '../source.js'
import { MadeSource } from './made-source.js'

interface PythonManifest extends Manifest {
  kind: 'python'
  json: PythonJson
  /** Of the Python process. */
  command: readonly string[]
}

export const python: SourceKind<PythonJson> = {
  async open(json, { notice, python: command = pythonCommand() }) {
    const { name, count, iterable } = json
    notice?.(
      `"${name}" is a dataset in Python: of its contents only the name and the number of samples, ${count}, are known, ` +
        'so a state can be loaded although the samples have changed',
    )
    if (iterable) {
      notice?.(`"${name}" is an iterable: one worker goes through it, and resuming goes through it again`)
    }
    const digest = createHash('sha256').update(`${name}\n${count}`).digest('hex').slice(0, 32)
    const manifest: PythonManifest = {
      kind: 'python',
      fingerprint: { kind: 'python', count, digest },
      indexBytes: 0,
      json,
      command,
    }
    return manifest
  },

  attach(manifest) {
    const { json, command } = manifest as PythonManifest
    return new PythonSource(json, command)
  },
}

let streams = 0

class PythonSource extends MadeSource {
  private readonly process: PythonProcess
  /** Rows of the present claim that were not taken yet, in order. */
  private enqueued: { row: number; ticket: number }[] = []
  private claim = -1
  private readonly stream = streams++
  private held = false

  constructor(
    private readonly json: PythonJson,
    private readonly command: readonly string[],
  ) {
    super(json.count, json.columns ?? [])
    this.process = pythonProcess(command)
  }

  enqueueRow(row: number, columns: readonly string[], epoch: number, random: Random): void {
    const ticket = this.ask(row, columns, epoch, keyFrom(random))
    if (this.claim !== this.process.claim) this.enqueued = []
    this.claim = this.process.claim
    this.enqueued.push({ row, ticket })
  }

  sample(row: number, _epoch: number, columns: readonly string[]): Columns {
    const i = this.enqueued.findIndex(other => other.row === row)
    if (i < 0) return this.alone(row, columns)
    const { ticket } = this.enqueued[i]
    // Rows before it were left out: a maker takes those of a claim in order.
    this.enqueued.splice(0, i + 1)
    markSpan(SpanKind.Transform)
    const answer = this.process.take(ticket)
    markSpan(SpanKind.Map)
    return columnsOf(this.process, answer)
  }

  private ask(row: number, columns: readonly string[], epoch: number, key: string): number {
    const { stream } = this
    return this.process.enqueueRow({ payload: this.json.hash, row, epoch, key, columns, stream })
  }

  /** A row that was not foreseen: for tools that look at single samples. */
  private alone(row: number, columns: readonly string[]): Columns {
    const { hash: id, payload: path } = this.json
    if (!this.held) holdPayload(this.command, { id, path })
    this.held = true
    const values = columnsOf(this.process, this.process.take(this.ask(row, columns, 0, '0')))
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        value instanceof Uint8Array ? value.slice() : value,
      ]),
    )
  }
}

/** What the user's Python raised. */
export class PythonFailure extends Error {}

/** The columns of an answer, as views into the arena. */
export function columnsOf(process: PythonProcess, { reply, buffers }: Answer): Columns {
  if (reply.error !== undefined) throw new PythonFailure(reply.error)
  const out: Columns = {}
  for (const [name, value] of Object.entries(reply.columns!)) {
    const bytes = bytesOf(value)
    if (bytes !== undefined) {
      out[name] =
        'buffer' in bytes
          ? buffers[bytes.buffer]
          : process.arena.u8.subarray(bytes.at, bytes.at + bytes.bytes)
    } else if (typeof value !== 'object') out[name] = value
    else if ('float' in value) out[name] = Number(value.float)
    else if ('json' in value) out[name] = value.json
  }
  return out
}
