/**
 * A maker: the program of one worker thread. It serves all rings of the process: picks the ring that is fed worst,
 * claims a few rows, makes them, and sleeps when no slot is free. There is no scheduler.
 */
import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { MillraceError } from '../../basics/errors.js'
import { watchProcess } from '../../python/processes.js'
import { loadPlugins } from '../../source/plugins.js'
import { loadKinds } from '../../source/registry.js'
import { openLane } from '../../spans/file.js'
import type { SpanLane } from '../../spans/lane.js'
import { JOIN_MS, SpanKind } from '../../spans/span-words.js'
import { collectGarbage } from '../../system/memory/collect.js'
import { shareMappings } from '../../system/memory/mmap.js'
import { loadRegistry } from '../../system/node/registry.js'
import { useTerminationGuard } from '../../system/node/unbroken.js'
import { giveWay, MAKER_THREAD, nameThread } from '../../system/process/thread.js'
import type { BadReport, Job } from '../plan/job.js'
import { noteChild } from '../pool/children.js'
import { type FromMaker, Life, type MakerData, PoolWord, type ToMaker } from '../pool/messages.js'
import { restLeft } from '../pool/rest.js'
import { loadFunctions, withTokenizers } from './functions.js'
import { RowMaker, spansOf } from './row-maker.js'

/** How long an idle maker sleeps before it looks around by itself, in ms. */
const NAP = 1000
/** What functions of the user's have begun gets its turn after so many claims, and so many ms when a ring is left. */
const CLAIMS_A_TURN = 64
const LAST_TURN = 5
/** Any long time, in ms. */
const FOREVER = 2 ** 30

class Maker {
  private readonly rings = new Map<number, RowMaker>()
  /** The rings, to be sorted by how well they are fed. */
  private served: RowMaker[] = []
  private inboxCount = -1
  /** What was in the inbox and is yet to be read. */
  private readonly messages: ToMaker[] = []
  private readonly lane: SpanLane | undefined
  /** Rings that call functions of the user's in this thread. */
  private readonly calling = new Set<number>()
  private claims = 0
  /** When the last claim ended. Undefined: the thread has done something else since. */
  private since: number | undefined
  /** Whether the pool has fewer makers than this one's number: it sleeps until there are more. */
  private surplus = false
  /** Hears of garbage collections when the event loop turns, which it does only while functions of the user's are called here. */
  private readonly collections = new PerformanceObserver(list => {
    for (const { startTime, duration } of list.getEntries()) this.lane?.gc(startTime, duration)
  })

  constructor(private readonly data: MakerData) {
    this.lane = data.spans && openLane(data.spans)
    watchProcess(child => noteChild(data.words, data.maker, child))
  }

  async run(): Promise<void> {
    const { words, maker } = this.data
    // A function that waits for ever must look hung: without a timer Node would end the thread, as it has nothing to wait for.
    setInterval(() => {}, FOREVER)
    while (Atomics.load(words, PoolWord.Stop) === 0) {
      const seen = Atomics.load(words, PoolWord.Wake)
      const inboxCount = Atomics.load(words, PoolWord.Inbox)
      if (inboxCount !== this.inboxCount) {
        this.lane?.pause() // taking up a feed loads its functions: that is no work on batches
        await this.readInbox()
        this.lane?.resume()
        this.since = undefined
      }
      this.inboxCount = inboxCount
      if (this.calling.size > 0 && ++this.claims % CLAIMS_A_TURN === 0) {
        await nextTurn(0)
        this.since = undefined
      }
      const rest = restLeft(words)
      this.setSurplus(maker >= Atomics.load(words, PoolWord.Awake))
      const made = rest === 0 && !this.surplus && this.makeSome()
      if (!(typeof made === 'boolean' ? made : await made)) this.sleep(seen, rest || NAP)
    }
    if (this.calling.size > 0) await nextTurn(LAST_TURN)
    for (const rowMaker of this.rings.values()) rowMaker.close()
  }

  /** A surplus maker serves no feed: it writes the spans that wait, and then none until it is needed again. */
  private setSurplus(surplus: boolean): void {
    if (surplus === this.surplus) return
    this.surplus = surplus
    if (surplus) {
      this.lane?.pause()
      this.lane?.flush()
    } else this.lane?.resume()
  }

  /** Waits until something changes. Spans that wait to be written are not held back for long. */
  private sleep(seen: number, most: number): void {
    const { lane, surplus } = this
    this.since = undefined
    if (surplus) {
      Atomics.wait(this.data.words, PoolWord.Wake, seen, most)
      return
    }
    const full = lane && this.served.filter(({ ring }) => ring.full)
    const begun = performance.now()
    Atomics.wait(this.data.words, PoolWord.Wake, seen, lane?.pending ? JOIN_MS : most)
    if (full === undefined) return
    // A wait for slots of several rings at once is booked for none of them.
    const spans = full.length === 1 ? full[0].spans : lane!.of(0)
    spans?.add(full.length > 0 ? SpanKind.Wait : SpanKind.Idle, begun, performance.now() - begun)
  }

  /** Reports what functions of the user's left behind: a rejection that nothing awaits, an error in a timer. */
  private watchLate(ring: number): void {
    if (this.calling.size === 0) {
      const late = (error: unknown): void => {
        const { message } = error instanceof Error ? error : { message: String(error) }
        const problem =
          `a function of yours failed after it had returned: ${message}. Have it return a promise for all that it ` +
          'begins, or catch what goes wrong there'
        this.say({ late: { rings: [...this.calling], message: problem } })
      }
      process.on('unhandledRejection', late)
      process.on('uncaughtException', late)
      if (this.lane) this.collections.observe({ entryTypes: ['gc'] })
    }
    this.calling.add(ring)
  }

  /** Makes one claim of the ring that has the fewest batches ahead. False when there is nothing to do. */
  private makeSome(): boolean | Promise<boolean> {
    if (this.served.length > 1) this.served.sort((a, b) => a.ring.inUse - b.ring.inUse)
    for (const rowMaker of this.served) {
      const claim = rowMaker.ring.next(this.data.maker)
      if (claim === undefined) continue
      if (rowMaker.job.version !== rowMaker.ring.version) {
        // The ring has just moved to another order. The job with that order is in the inbox: read it first.
        rowMaker.ring.giveBack(this.data.maker)
        return true
      }
      const pending = rowMaker.make(claim, this.since)
      this.since = pending ? undefined : rowMaker.ended
      return pending ? pending.then(() => true) : true
    }
    return false
  }

  private async readInbox(): Promise<void> {
    for (;;) {
      this.drainInbox()
      const message = this.messages.shift()
      if (message === undefined) return
      if ('take' in message) await this.take(message.take)
      else if ('bind' in message) await this.bind(message.bind ?? undefined)
      else {
        if (this.calling.has(message.leave)) await nextTurn(LAST_TURN)
        this.calling.delete(message.leave)
        if (this.calling.size === 0) this.collections.disconnect()
        this.rings.get(message.leave)?.close()
        this.rings.delete(message.leave)
        this.lane?.forget(message.leave)
      }
      this.served = [...this.rings.values()]
      if ('leave' in message) collectGarbage() // the ring's memory is not freed before that
    }
  }

  /** Runs on these cores from now on; undefined: where it could before. */
  private async bind(cores: readonly number[] | undefined): Promise<void> {
    const { bindThread } = await import('../../system/process/affinity.js')
    try {
      bindThread(cores)
    } catch (error) {
      this.say({ unbound: (error as Error).message })
    }
  }

  private drainInbox(): void {
    const { inbox } = this.data
    for (let got = receiveMessageOnPort(inbox); got; got = receiveMessageOnPort(inbox))
      this.messages.push(got.message)
  }

  private async take(job: Job): Promise<void> {
    const { words, maker } = this.data
    if (job.makers !== undefined && maker >= job.makers) return
    // Say which job is being taken up before reading messages, so that a "leave" sent in between is not missed: the pool
    // either finds this word set, or its message is read below.
    Atomics.store(words, PoolWord.Taking + maker, job.id)
    this.drainInbox()
    try {
      if (this.messages.some(letter => 'leave' in letter && letter.leave === job.id)) return
      await loadPlugins(job.feed.plugins, job.timeout)
      await loadKinds(job.sources.map(({ manifest }) => manifest))
      const functions = await withTokenizers(job, await loadFunctions(job.feed, job.timeout))
      if (functions.sample || functions.fields.size > 0) this.watchLate(job.id)
      const report = (bad: BadReport): void => this.say({ bad })
      const former = this.rings.get(job.id)
      former?.close()
      this.rings.set(
        job.id,
        new RowMaker(job, maker, functions, report, spansOf(job, this.lane), former?.work),
      )
      this.say({ took: job.id })
    } catch (error) {
      const { message, stack } = error as Error
      const tag = error instanceof MillraceError ? error.tag : undefined
      this.say({ failed: { ring: job.id, message: tag ? message : (stack ?? message), tag } })
    } finally {
      Atomics.store(words, PoolWord.Taking + maker, 0)
    }
  }

  private say(message: FromMaker): void {
    this.data.outbox.postMessage(message)
  }
}

/** Lets the event loop turn, for so many ms. */
function nextTurn(ms: number): Promise<void> {
  return new Promise(resolve => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)))
}

const data = workerData as MakerData
const live = (life: number): void => {
  Atomics.store(data.words, PoolWord.Life + data.maker, life)
  Atomics.notify(data.words, PoolWord.Life + data.maker)
}
useTerminationGuard(data.terminationGuard)
giveWay()
nameThread(`${MAKER_THREAD}${data.maker}`)
shareMappings(data.mappings)
live(Life.Running)
process.on('exit', () => live(Life.None))
try {
  await loadRegistry()
  await new Maker(data).run()
} catch (error) {
  // An error of ours ends the thread: `watchLate` must not take it for one of the user's.
  process.removeAllListeners('uncaughtException')
  throw error
}
process.exit(0)
