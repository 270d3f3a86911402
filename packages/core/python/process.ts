/**
 * One Python process, in which a user's datasets and functions run, and the asks that it has not answered yet. One thread
 * drives it. When it dies, another one is started and asked again; an ask that ended two of them is answered by an error.
 */

import { EngineError, SourceError } from '../basics/errors.js'
import { Child, ChildEnded, type ChildNote } from '../system/process/child.js'
import { pythonEnvironment } from './interpreter.js'
import {
  Arena,
  type Ask,
  FIELD,
  type Payload,
  type Reply,
  ROWS,
  type Room,
  SAMPLE,
  type What,
  Wire,
} from './wire.js'

/** Deaths of the process that one ask may cause before it is given up. */
const MAX_DEATHS = 2
/** Processes that may die one after the other without an answer. */
const MAX_BARREN = 3

interface Pending {
  ask: Ask
  room: Room
  buffers: readonly Uint8Array[]
  deaths: number
}

export interface Answer {
  reply: Reply
  buffers: Uint8Array[]
}

export class PythonProcess {
  /** The number of the present claim: rows that were foreseen for an earlier one are forgotten. */
  claim = 0
  private memory: Arena | undefined
  private child: Child | undefined
  private wire!: Wire
  private tickets = 0
  /** Rows that are known to be needed and were not asked for yet. */
  private queued: Ask[] = []
  /** What was asked and not answered, in order. */
  private pending: Pending[] = []
  private readonly answers = new Map<number, Answer>()
  /** What this process has loaded, and for how many feeds. */
  private readonly payloads = new Map<string, { path: string; users: number }>()
  /** Where the next row of this claim may lie in the arena. */
  private rowsFrom = ROWS[0]
  /** True once a row of the present claim was taken: a row that is foreseen after that belongs to the next claim. */
  private taking = false
  /** Processes started since the last answer. */
  private barren = 0

  constructor(
    private readonly command: readonly string[],
    /** Told of the child whenever one is started or ended. */
    private readonly watcher?: ChildNote,
  ) {}

  /** Made when it is first needed: a source that is only attached takes no memory. */
  get arena(): Arena {
    this.memory ??= new Arena()
    return this.memory
  }

  /** Loads a dataset or a function, for one more feed. Throws when it can't be loaded. */
  hold({ id, path }: Payload): void {
    const held = this.payloads.get(id)
    if (held) {
      held.users++
      held.path = path
      return
    }
    this.drain()
    this.payloads.set(id, { path, users: 1 })
    try {
      if (this.child === undefined) this.start()
      else this.send([this.ask({ payload: id, load: path })], ROWS)
      this.drain()
    } catch (error) {
      this.payloads.delete(id)
      throw error
    }
  }

  /** Lets go of a payload, for one feed; true when no feed needs this process any more. */
  drop(id: string): boolean {
    const held = this.payloads.get(id)
    if (held === undefined || --held.users > 0) return this.payloads.size === 0
    this.payloads.delete(id)
    if (this.payloads.size === 0) return true
    this.drain()
    this.send([this.ask({ payload: id, drop: true })], ROWS)
    return false
  }

  /** A row will be needed: it is asked for together with the others of its claim. Returns its ticket. */
  enqueueRow(what: Extract<What, { row: number }>): number {
    if (this.taking) this.nextClaim()
    const ask = this.ask(what)
    this.queued.push(ask)
    return ask.t
  }

  /** The answer for a row that was foreseen. What it holds lives until the next claim. */
  take(ticket: number): Answer {
    this.taking = true
    if (this.queued.length > 0) {
      const asks = this.queued
      this.queued = []
      this.drain()
      this.send(asks, [this.rowsFrom, ROWS[1]])
    }
    return this.answer(ticket)
  }

  /** Calls a function; what its answer holds lives until the next call of that kind. */
  call(
    kind: 'sample' | 'field',
    make: (t: number) => Ask,
    buffers: readonly Uint8Array[],
    used: number,
  ): Answer {
    this.drain()
    const ask = make(++this.tickets)
    this.send([ask], [used, (kind === 'sample' ? SAMPLE : FIELD)[1]], buffers)
    return this.answer(ask.t)
  }

  end(): void {
    this.child?.end()
    this.memory?.close()
  }

  // ---------------------------------------------------------------- asking

  private ask(what: What): Ask {
    return { t: ++this.tickets, ...what }
  }

  private send(asks: readonly Ask[], room: Room, buffers: readonly Uint8Array[] = []): void {
    this.post(asks.map(ask => ({ ask, room, buffers, deaths: 0 })))
  }

  /** Sends what has one room, as one request. */
  private post(asked: readonly Pending[]): void {
    if (asked.length === 0) return
    this.pending.push(...asked)
    const [{ room, buffers }] = asked
    try {
      this.wire.send(
        room,
        asked.map(({ ask }) => ask),
        buffers,
      )
    } catch (error) {
      this.revive(error)
    }
  }

  private answer(ticket: number): Answer {
    for (;;) {
      const found = this.answers.get(ticket)
      if (found !== undefined) {
        this.answers.delete(ticket)
        return found
      }
      if (this.pending.length === 0) throw new EngineError(`nothing was asked under number ${ticket}`)
      this.receive()
    }
  }

  /** Reads all answers that are still to come. If both sides wrote at once, both pipes could be full, and each would wait. */
  private drain(): void {
    while (this.pending.length > 0) this.receive()
  }

  private receive(): void {
    let answer: Answer
    try {
      answer = this.wire.receive()
    } catch (error) {
      this.revive(error)
      return
    }
    this.barren = 0
    const { ask, room } = this.pending.shift()!
    const { reply } = answer
    if (reply.t !== ask.t) throw new EngineError(`Python answered ${reply.t}, but was asked ${ask.t}`)
    if (room[1] === ROWS[1] && reply.next !== undefined) this.rowsFrom = reply.next
    if ('load' in ask) {
      if (reply.error !== undefined) throw new SourceError(`Python can't load it: ${reply.error}`)
    } else if (!('drop' in ask)) this.answers.set(reply.t, answer)
  }

  private nextClaim(): void {
    this.drain()
    this.answers.clear()
    this.queued = []
    this.rowsFrom = ROWS[0]
    this.taking = false
    this.claim++
  }

  // ---------------------------------------------------------------- life and death

  private start(): void {
    this.barren++
    this.child = Child.start(this.command, pythonEnvironment(), this.arena.region.fd, this.watcher)
    this.wire = new Wire(this.child)
    const loads = [...this.payloads].map(([payload, { path }]) => this.ask({ payload, load: path }))
    this.send(loads, ROWS)
  }

  /** The process is gone: another one gets what it has not answered. */
  private revive(error: unknown): void {
    if (!(error instanceof ChildEnded)) throw error
    this.child = undefined
    // start() loads payloads again; what was to be dropped is gone with the process.
    const left = this.pending.filter(({ ask }) => !('drop' in ask || 'load' in ask))
    this.pending = []
    if (this.barren >= MAX_BARREN) {
      throw new EngineError(`Python does not stay alive (${this.command.join(' ')}): ${error.message}`)
    }
    const culprit = left.find(({ ask }) => ask.t === this.arena.at)
    if (culprit && ++culprit.deaths >= MAX_DEATHS) {
      left.splice(left.indexOf(culprit), 1)
      const { t } = culprit.ask
      const why = `it ended ${MAX_DEATHS} Python processes; the last one: ${error.message}`
      this.answers.set(t, { reply: { t, error: why }, buffers: [] })
    }
    this.start()
    const again: Room = [this.rowsFrom, ROWS[1]]
    this.post(left.map(waiting => (waiting.room[1] === ROWS[1] ? { ...waiting, room: again } : waiting)))
  }
}
