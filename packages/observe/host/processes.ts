/**
 * What the processes of a run use: the engine's and the trainer's, with all below them (workers of a DataLoader, processes
 * of Python functions). Each process belongs to the nearest of the two above it.
 *
 * Where engine and trainer are one process, its makers are the threads that bear their name; processes that these have
 * started are the engine's. CPU time of processes and makers that end is kept, so that sums never fall.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readText } from '../../core/system/process/cgroup.js'
import { MAKER_THREAD } from '../../core/system/process/thread.js'
import { parseKeyed, parseProcessStat, parseRunDelay, parseSchedstat, TICKS } from './parse.js'

type Side = 'engine' | 'trainer'

interface Member {
  side: Side
  started: number
  ms: number
}

export interface ProcessesLook {
  engineMs: number
  trainerMs: number
  /** ms that the trainer's main thread, which as a rule asks for batches, waited for a core. */
  trainerDelayMs: number | null
  /** Memory of the processes; pages that may be shared (files, shared memory) are counted once, as the most that one has. */
  rssBytes: number
  /** What of it is their own: neither of files nor shared. */
  ownBytes: number
  diskBytes: number | null
  readBytes: number | null
}

/** New processes are looked for at most so often (ms). */
const SEARCH = 1000
/** A thread gets its name soon after it has started (ms): names of older ones are not read again. */
const NAMED_WITHIN = 10_000

export class Processes {
  private readonly members = new Map<number, Member>()
  /** CPU time of those that have ended. */
  private readonly ended = { engine: 0, trainer: 0 }
  private readonly threads = new Map<number, { maker: boolean; seen: number; ms: number }>()
  private endedThreads = 0
  private searched = -Infinity

  constructor(
    private readonly engine: readonly number[],
    private readonly trainer: number,
    private readonly root: string,
  ) {}

  /** `now` in ms, of any clock. */
  look(now: number): ProcessesLook {
    if (now - this.searched >= SEARCH) {
      this.searched = now
      this.search(now)
    }
    const sums = { engine: 0, trainer: 0 }
    const io = { disk: null as number | null, read: null as number | null }
    let [own, shared] = [0, 0]
    for (const [pid, member] of this.members) {
      const ms = this.cpu(pid, member)
      if (ms === null) continue
      sums[member.side] += ms
      const status = parseKeyed(this.text(pid, 'status') ?? '')
      const files = (status.get('RssFile') ?? 0) + (status.get('RssShmem') ?? 0)
      own += status.get('RssAnon') ?? status.get('VmRSS') ?? 0
      shared = Math.max(shared, files)
      if (member.side === 'trainer' && !this.engine.includes(pid)) continue
      const read = parseKeyed(this.text(pid, 'io') ?? '')
      io.disk = added(io.disk, read.get('read_bytes'))
      io.read = added(io.read, read.get('rchar'))
    }
    sums.engine += this.ended.engine
    sums.trainer += this.ended.trainer
    if (this.both) {
      const makers = this.makers(now)
      sums.engine += makers
      sums.trainer = Math.max(0, sums.trainer - makers)
    }
    return {
      engineMs: sums.engine,
      trainerMs: sums.trainer,
      trainerDelayMs: parseRunDelay(this.text(this.trainer, `task/${this.trainer}/schedstat`) ?? ''),
      rssBytes: own + shared,
      ownBytes: own,
      diskBytes: io.disk,
      readBytes: io.read,
    }
  }

  /** Engine and trainer are one process: it stands among the trainer's, and its makers are taken out. */
  private get both(): boolean {
    return this.engine.includes(this.trainer)
  }

  /** CPU time of a process, of its ended threads too. Null: it is gone. */
  private cpu(pid: number, member: Member): number | null {
    const stat = parseProcessStat(this.text(pid, 'stat') ?? '')
    if (stat === null || stat.started !== member.started) {
      this.ended[member.side] += member.ms
      this.members.delete(pid)
      return null
    }
    member.ms = (stat.ticks * 1000) / TICKS
    return member.ms
  }

  /** CPU time of the makers among the threads of the one process. */
  private makers(now: number): number {
    const tasks = this.tasks(this.trainer)
    for (const [tid, thread] of this.threads) {
      if (tasks.includes(tid)) continue
      this.endedThreads += thread.ms
      this.threads.delete(tid)
    }
    let sum = this.endedThreads
    for (const tid of tasks) if (this.isMaker(tid, now)) sum += this.threadMs(tid)
    return sum
  }

  private isMaker(tid: number, now: number): boolean {
    const thread = this.threads.get(tid) ?? { maker: false, seen: now, ms: 0 }
    this.threads.set(tid, thread)
    if (!thread.maker && now - thread.seen <= NAMED_WITHIN)
      thread.maker = this.text(this.trainer, `task/${tid}/comm`)?.startsWith(MAKER_THREAD) ?? false
    return thread.maker
  }

  private threadMs(tid: number): number {
    const thread = this.threads.get(tid)
    if (thread === undefined) return 0
    const fine = parseSchedstat(this.text(this.trainer, `task/${tid}/schedstat`) ?? '')
    const coarse = fine ? null : parseProcessStat(this.text(this.trainer, `task/${tid}/stat`) ?? '')
    thread.ms = Math.max(thread.ms, fine || ((coarse?.ticks ?? 0) * 1000) / TICKS)
    return thread.ms
  }

  /** Finds the processes of both sides. */
  private search(now: number): void {
    for (const pid of this.engine) if (pid !== this.trainer) this.add(pid, 'engine', now)
    this.add(this.trainer, 'trainer', now)
  }

  private add(pid: number, side: Side, now: number): void {
    const stat = parseProcessStat(this.text(pid, 'stat') ?? '')
    if (stat === null || stat.state === 'Z') return
    const known = this.members.get(pid)
    if (known === undefined || known.started !== stat.started) {
      if (known !== undefined) this.ended[known.side] += known.ms
      this.members.set(pid, { side, started: stat.started, ms: 0 })
    }
    const one = this.both && pid === this.trainer
    for (const tid of this.tasks(pid)) {
      const children = this.text(pid, `task/${tid}/children`)?.split(/\s+/) ?? []
      const theirs = one && children[0] && this.isMaker(tid, now) ? 'engine' : side
      for (const child of children) {
        if (!/^\d+$/.test(child) || this.isRoot(Number(child))) continue
        this.add(Number(child), theirs, now)
      }
    }
  }

  private isRoot(pid: number): boolean {
    return pid === this.trainer || this.engine.includes(pid)
  }

  private tasks(pid: number): number[] {
    try {
      return readdirSync(join(this.root, `/proc/${pid}/task`)).map(Number)
    } catch {
      return []
    }
  }

  private text(pid: number, file: string): string | undefined {
    return readText(this.root, `/proc/${pid}/${file}`)
  }
}

function added(sum: number | null, more: number | undefined): number | null {
  return more === undefined ? sum : (sum ?? 0) + more
}
