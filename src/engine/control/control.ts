/**
 * The engine's side of the control memory: looks, a few times a second, whether another process asks for something. Every
 * word of a request is checked before it is used; what is wrong with it is answered, and nothing is changed.
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import { monotonicMs } from '../../spans/clock.js'
import { createRegion, seal } from '../../system/memory/memory.js'
import { Pool } from '../pool/pool.js'
import { MAX_REST } from '../pool/rest.js'
import { type Asker, startOf } from './asker.js'
import {
  ANSWER_AT,
  answerBytes,
  CONTROL_MEMORY,
  CONTROL_NAME,
  ControlBytes,
  type ControlRequest,
  ControlResult,
  headBytes,
  REQUEST_AT,
  readRequest,
} from './words.js'

/** How often it is looked (ms), and how often while another process asks: a rest that is over should end at once. */
const OFTEN = 100
const SOON = 20

/** A ring that can be controlled. */
export interface Controlled {
  readonly id: number
  workers: number
  readonly depth: number
  /** The depth can be raised to its capacity. */
  readonly ring: { readonly capacity: number }
  setDepth(depth: number): Promise<void>
}

interface Entry {
  ring: Controlled
  mostWorkers: number
}

export class Control {
  private static instance: Control | undefined

  /** That of this process. */
  static shared(): Control {
    Control.instance ??= new Control()
    return Control.instance
  }

  private readonly rings = new Map<number, Entry>()
  private fd = -1
  private timer: NodeJS.Timeout | undefined
  private soon: NodeJS.Timeout | undefined
  private answered = 0
  private asker: Asker | undefined
  private busy = false
  /** Called when another process begins to control this one, before it is noted how things stand. */
  onTaken: (() => Promise<void>) | undefined

  /**
   * From now on the ring can be controlled. Where there is no memory, it can't. `mostWorkers` is 0 where the consumer makes
   * the rows itself.
   */
  add(ring: Controlled, mostWorkers: number): void {
    this.rings.set(ring.id, { ring, mostWorkers })
    if (this.fd < 0) this.open()
    if (this.fd >= 0) this.timer ??= setInterval(this.lookNow, OFTEN).unref()
  }

  remove(id: number): void {
    this.rings.delete(id)
    if (this.rings.size > 0) return
    clearInterval(this.timer)
    clearTimeout(this.soon)
    this.timer = undefined
    this.soon = undefined
  }

  /** Whether another process controls this one at present. */
  get controlled(): boolean {
    return this.asker !== undefined
  }

  /** Looks for a request, and answers it. What a process has set that was killed meanwhile is set back. */
  async look(): Promise<void> {
    if (this.busy) return
    this.busy = true
    try {
      const { asker } = this
      const request = this.newRequest()
      // The last request of a process is its last word, though it has ended since.
      const isLast = request?.asker === 0
      if (!isLast && asker !== undefined && startOf(asker.pid) !== asker.started) await this.setBack(asker)
      if (request === undefined) return
      const entry = this.rings.get(request.ring)
      const started = request.asker === 0 ? '' : startOf(request.asker)
      if (started === undefined) return this.refuseDead(request)
      if (request.asker !== 0 && this.asker?.pid !== request.asker) await this.onTaken?.()
      this.remember(request, started, entry)
      const result = await serve(request, entry)
      this.answered = request.sequence
      this.say(request.asker, result, entry)
    } finally {
      this.busy = false
      if (this.asker !== undefined && this.timer !== undefined) this.lookSoon()
    }
  }

  private lookSoon(): void {
    this.soon ??= setTimeout(() => {
      this.soon = undefined
      this.lookNow()
    }, SOON).unref()
  }

  /** Another process may have sealed its memory: the run goes on, and can't be controlled any more. */
  private readonly lookNow = (): void => {
    void this.look().catch((error: Error) => {
      clearInterval(this.timer)
      clearTimeout(this.soon)
      this.timer = this.soon = undefined
      process.emitWarning(`this process can't be controlled any more: ${error.message}`, 'MillraceNotice')
    })
  }

  private newRequest(): ControlRequest | undefined {
    const bytes = Buffer.alloc(ControlBytes.request)
    if (readSync(this.fd, bytes, 0, bytes.length, REQUEST_AT) < bytes.length) return undefined
    const request = readRequest(bytes)
    return request?.sequence === 0 || request?.sequence === this.answered ? undefined : request
  }

  /** A process that was killed before its request was seen wants nothing any more, and could set nothing back. */
  private refuseDead({ sequence }: ControlRequest): void {
    this.answered = sequence
    this.say(0, ControlResult.Done, undefined)
  }

  /** Who asks, and how the ring was before it did. The last request of a process leaves all as it then is. */
  private remember(
    { asker: pid, workers, depth, restUntil }: ControlRequest,
    started: string,
    entry: Entry | undefined,
  ): void {
    if (pid === 0) {
      this.asker = undefined
      return
    }
    if (this.asker?.pid !== pid) this.asker = { pid, started, before: new Map(), rested: false }
    const { before } = this.asker
    if (restUntil !== 0) this.asker.rested = true
    if (entry === undefined || (workers === 0 && depth === 0) || before.has(entry.ring.id)) return
    before.set(entry.ring.id, { workers: entry.ring.workers, depth: entry.ring.depth })
  }

  private async setBack({ before, rested }: Asker): Promise<void> {
    this.asker = undefined
    if (rested) Pool.shared().rest(0)
    for (const [id, { workers, depth }] of before) {
      const ring = this.rings.get(id)?.ring
      if (ring === undefined) continue // closed meanwhile
      if (ring.workers !== workers) ring.workers = workers
      if (ring.depth !== depth) await ring.setDepth(depth)
    }
    this.say(0, ControlResult.Done, undefined)
  }

  private say(asker: number, result: ControlResult, entry: Entry | undefined): void {
    const { workers = 0, depth = 0 } = entry?.ring ?? {}
    const bytes = answerBytes({ sequence: this.answered, asker, result, workers, depth, at: monotonicMs() })
    writeSync(this.fd, bytes, 0, ControlBytes.answer, ANSWER_AT)
  }

  private open(): void {
    let fd = -1
    try {
      const region = createRegion(CONTROL_MEMORY, CONTROL_NAME)
      fd = region.fd
      seal(region, false)
      writeSync(fd, headBytes(process.pid), 0, undefined, 0)
      this.fd = fd
    } catch {
      if (fd >= 0) closeSync(fd) // no descriptors or memory left: the feed runs without
    }
  }
}

/** Checks all of a request, then does it. */
async function serve(request: ControlRequest, entry: Entry | undefined): Promise<ControlResult> {
  if (entry === undefined) return ControlResult.NoRing
  const { ring, mostWorkers } = entry
  const { workers, depth, restUntil } = request
  if (workers !== 0 && workers > mostWorkers) return ControlResult.BadWorkers
  if (depth !== 0 && depth > ring.ring.capacity) return ControlResult.BadDepth
  const rest = restUntil - monotonicMs()
  // Without workers none rest; a rest that has passed is only ended.
  if (!Number.isFinite(restUntil) || restUntil < 0 || rest > (mostWorkers > 0 ? MAX_REST : 0))
    return ControlResult.BadRest
  try {
    if (workers !== 0) ring.workers = workers
    if (depth !== 0) await ring.setDepth(depth)
    if (restUntil !== 0 && mostWorkers > 0) Pool.shared().rest(restUntil)
    return ControlResult.Done
  } catch {
    return ControlResult.Failed // no memory for more slots: the depth stays
  }
}
