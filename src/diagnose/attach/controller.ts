/**
 * The asking side of the control memory (engine/control/): sets workers and depth of a ring in another process, and lets its
 * workers rest. It writes a few words through /proc/PID/fd; the engine checks them, and does what they say within a moment.
 */
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  writeSync,
} from 'node:fs'
import { MillraceError } from '../../basics/errors.js'
import { startOf } from '../../engine/control/asker.js'
import {
  ANSWER_AT,
  CONTROL_NAME,
  CONTROL_VERSION,
  type ControlAnswer,
  ControlBytes,
  type ControlRequest,
  ControlResult,
  REQUEST_AT,
  readAnswer,
  readHead,
  readRequest,
  requestBytes,
} from '../../engine/control/words.js'
import type { Setting } from '../bench.js'

/** How long an answer may take (ms): a trainer in Node answers between two of its steps. */
const PATIENCE = 30_000
const LOOK = 20

const REFUSED: Record<number, string> = {
  [ControlResult.NoRing]: 'the feed is closed by now',
  [ControlResult.BadWorkers]: 'the feed can’t have so many workers',
  [ControlResult.BadDepth]: 'the depth can’t be that large: open the feed with a larger maxDepth',
  [ControlResult.BadRest]: 'its workers can’t rest',
  [ControlResult.Failed]: 'there is not enough memory for that',
}

export class Controller {
  private sequence: number

  private constructor(
    private readonly fd: number,
    readonly pid: number,
    private readonly ring: number,
    private readonly isOpen: () => boolean,
  ) {
    // Goes on from the request that was answered last.
    this.sequence = this.lastRequest()?.sequence ?? 0
  }

  /** Throws where a process can't be controlled, or another one does so at present. `isOpen`: whether the ring still is. */
  static open(pid: number, ring: number, isOpen = () => true): Controller {
    const fd = openControl(pid)
    try {
      const controller = new Controller(fd, pid, ring, isOpen)
      const { asker = 0, sequence } = controller.lastRequest() ?? {}
      const answer = controller.lastAnswer()
      // The engine has seen that it was killed: the number may be that of another process by now.
      const killed = answer?.asker === 0 && answer.sequence === sequence
      // A process that asked for something and is still there may not be done.
      if (asker !== 0 && asker !== process.pid && !killed && startOf(asker) !== undefined)
        throw new MillraceError(
          `process ${asker} controls process ${pid} at present: wait until it has ended`,
        )
      return controller
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  /** Asks, and waits for the answer. */
  async ask(wanted: Setting & { restUntil?: number }): Promise<ControlAnswer> {
    const sequence = this.write(wanted)
    const until = performance.now() + PATIENCE
    for (;;) {
      const answer = this.lastAnswer()
      if (answer?.sequence === sequence) {
        if (answer.result === ControlResult.Done) return answer
        throw new MillraceError(
          `process ${this.pid} refused: ${REFUSED[answer.result] ?? 'it gave no reason'}`,
        )
      }
      if (!this.isOpen()) throw new MillraceError('the feed was closed while it was looked at')
      if (!existsSync(`/proc/${this.pid}`))
        throw new MillraceError(`the engine (process ${this.pid}) has ended`)
      if (performance.now() > until)
        throw new MillraceError(
          `process ${this.pid} did not answer within ${PATIENCE / 1000} s: it is stopped, or a step of its takes longer`,
        )
      await new Promise(resolve => setTimeout(resolve, LOOK))
    }
  }

  /** Asks without waiting. The last request of a process says so: then others may ask. Returns the request's number. */
  write({ workers = 0, depth = 0, restUntil = 0 }: Setting & { restUntil?: number }, last = false): number {
    this.sequence = (this.sequence + 1) >>> 0 || 1
    const { sequence, ring } = this
    const bytes = requestBytes({ sequence, asker: last ? 0 : process.pid, ring, workers, depth, restUntil })
    writeSync(this.fd, bytes, 0, bytes.length, REQUEST_AT)
    return sequence
  }

  /** Lets others ask. */
  close(): void {
    if (this.lastRequest()?.asker === process.pid) this.write({}, true)
    closeSync(this.fd)
  }

  private lastRequest(): ControlRequest | undefined {
    return readRequest(this.read(REQUEST_AT, ControlBytes.request))
  }

  private lastAnswer(): ControlAnswer | undefined {
    return readAnswer(this.read(ANSWER_AT, ControlBytes.answer))
  }

  private read(at: number, bytes: number): Uint8Array {
    const into = new Uint8Array(bytes)
    return into.subarray(0, readSync(this.fd, into, 0, bytes, at))
  }
}

/** The process that controls another one at present; null: none does, or it can't be told. Only reads. */
export function controlledBy(pid: number): number | null {
  let fd: number
  try {
    fd = openControl(pid, constants.O_RDONLY)
  } catch {
    return null
  }
  try {
    const bytes = new Uint8Array(ControlBytes.request)
    const request = readRequest(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, REQUEST_AT)))
    const asker = request?.asker ?? 0
    return asker !== 0 && startOf(asker) !== undefined ? asker : null
  } finally {
    closeSync(fd)
  }
}

function openControl(pid: number, how = constants.O_RDWR): number {
  const folder = `/proc/${pid}/fd`
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    throw new MillraceError(`process ${pid} has ended, or is another user's`)
  }
  for (const name of names) {
    const path = `${folder}/${name}`
    let fd: number
    try {
      if (!readlinkSync(path).startsWith(`/memfd:${CONTROL_NAME}`)) continue
      fd = openSync(path, how)
    } catch {
      continue // closed meanwhile
    }
    const bytes = new Uint8Array(16)
    const head = readHead(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)))
    if (head?.pid === pid && head.version === CONTROL_VERSION) return fd
    closeSync(fd)
  }
  throw new MillraceError(
    `process ${pid} can't be controlled: it has no feed open, or runs another version of Millrace`,
  )
}
