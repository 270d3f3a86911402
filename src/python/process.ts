/**
 * The Python process of a maker: a user's datasets and functions run in it. Each maker thread has one for each
 * interpreter, started when it is first needed and driven by that thread alone, so results depend on nothing but what
 * is asked. When it dies, a new one is asked what was not answered; whatever kills two of them is that sample's error.
 */

import { EngineError, SourceError } from '../basics/errors.js'
import type { Random } from '../basics/random.js'
import { Child, ChildEnded, type ChildNote } from '../system/process/child.js'
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
/** Processes that may die one after the other without having answered anything. */
const MAX_BARREN = 3

/**
 * Set in every such process: one thread each (there are as many processes as makers), no GPU (a process that touched
 * it would hold memory there), and sets that iterate in one order everywhere.
 */
const ENVIRONMENT = {
  OMP_NUM_THREADS: '1',
  MKL_NUM_THREADS: '1',
  OPENBLAS_NUM_THREADS: '1',
  CUDA_VISIBLE_DEVICES: '',
  PYTHONHASHSEED: '0',
  MILLRACE_MAKER: '1',
}

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
  /** Counts claims: what was foreseen for an earlier one is forgotten. */
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
  /** True once a row of the present claim was taken: what is foreseen after that belongs to the next. */
  private taking = false
  /** Processes started since the last answer. */
  private barren = 0

  constructor(private readonly command: readonly string[]) {}

  /** Made when it is needed: a source that is only attached takes nothing. */
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

  /** One feed less needs it; true when nobody needs this process any more. */
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
  foresee(what: Extract<What, { row: number }>): number {
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

  /** Reads all that is still to come: two that write to each other at once could wait forever. */
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
    const env = { ...process.env, ...ENVIRONMENT }
    this.child = Child.start(this.command, env, this.arena.region.fd, watcher)
    this.wire = new Wire(this.child)
    const loads = [...this.payloads].map(([payload, { path }]) => this.ask({ payload, load: path }))
    this.send(loads, ROWS)
  }

  /** The process is gone: another one gets what it has not answered. */
  private revive(error: unknown): void {
    if (!(error instanceof ChildEnded)) throw error
    this.child = undefined
    // Those are asked again by start(); what was to be dropped is gone.
    const left = this.pending.filter(({ ask }) => !('drop' in ask || 'load' in ask))
    this.pending = []
    if (this.barren >= MAX_BARREN) {
      throw new EngineError(`Python does not stay alive (${this.command.join(' ')}): ${error.message}`)
    }
    const culprit = left.find(({ ask }) => ask.t === this.arena.at)
    if (culprit && ++culprit.deaths >= MAX_DEATHS) {
      left.splice(left.indexOf(culprit), 1)
      const { t } = culprit.ask
      const why = `it ended ${MAX_DEATHS} Python processes; of the last one is known: ${error.message}`
      this.answers.set(t, { reply: { t, error: why }, buffers: [] })
    }
    this.start()
    const again: Room = [this.rowsFrom, ROWS[1]]
    this.post(left.map(waiting => (waiting.room[1] === ROWS[1] ? { ...waiting, room: again } : waiting)))
  }
}

// -------------------------------------------------------------------- those of this thread

const processes = new Map<string, PythonProcess>()
let watcher: ChildNote | undefined

/** Tells of the process that this thread drives, for whoever is left to end it when the thread is gone. */
export function watchProcess(listener: ChildNote): void {
  watcher = listener
}

/** Runs the worker of the `millrace` package that the interpreter finds; nothing of the package is imported before. */
const LAUNCH = `
import importlib.util, runpy, sys
found = importlib.util.find_spec("millrace")
if found is None:
    sys.exit(f"{sys.executable} has no package millrace: install millrace-feed there, or name another interpreter")
sys.path[0] = found.submodule_search_locations[0] + "/_data"
runpy.run_path(sys.path[0] + "/worker.py", run_name="__main__")`

/**
 * The command of a Python process: a whole one as it is; an interpreter runs our maker. By default it is the
 * interpreter of MILLRACE_PYTHON, or python3. It comes from the program that opens a feed, never from the definition.
 */
export function pythonCommand(given?: string | readonly string[]): readonly string[] {
  if (typeof given === 'object') return given
  return [given ?? (process.env.MILLRACE_PYTHON || 'python3'), '-c', LAUNCH]
}

/** This thread's process for an interpreter. */
export function pythonProcess(command: readonly string[]): PythonProcess {
  const key = command.join('\0')
  let found = processes.get(key)
  if (found === undefined) processes.set(key, (found = new PythonProcess(command)))
  return found
}

/** Starts this thread's process, if need be, and has it load a payload. The result gives it back. */
export function holdPayload(command: readonly string[], payload: Payload): () => void {
  const held = pythonProcess(command)
  const release = (): void => {
    if (!held.drop(payload.id)) return
    processes.delete(command.join('\0'))
    held.end()
  }
  try {
    held.hold(payload)
  } catch (error) {
    release()
    throw error
  }
  return release
}

/** 128 bits that key the random numbers of one ask, as hexadecimal digits. */
export function keyFrom(random: Random): string {
  let key = ''
  for (let i = 0; i < 4; i++) key += random.bits().toString(16).padStart(8, '0')
  return key
}
