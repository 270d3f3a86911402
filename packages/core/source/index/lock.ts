/**
 * Lets one process at a time build an index, among all that see the same folder. The lock is a file that names its holder:
 * pid, start time, pid namespace and host. So a lock that a killed process left is recognised and taken over, even when its
 * pid was given to another process. The file appears with its text in it, never empty. A holder that can't be looked up (on
 * another host with a network file system, in another container) shows that it lives by touching the file.
 */
import {
  closeSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Draft } from '../../system/files/draft.js'
import { openRegular } from '../../system/files/regular.js'
import { startTime } from '../../system/process/proc.js'

/** Between looks at a lock held by another: grows from the first to the last, in ms. */
const WAIT = { first: 2, last: 200 }
/** Who waits longer than this says for whom, and again after `again`. In ms. */
const TELL = { after: 1_000, again: 30_000 }
/**
 * The holder touches its lock this often; one that stays untouched for `dead` is stale. A lock that names no holder
 * is no lock of this version: it is stale after `nameless`. In ms.
 */
const TOUCH = { every: 5_000, dead: 60_000, nameless: 2_000 }

export interface LockOptions {
  /** Told for whom we wait, when it takes long. */
  notice?: (text: string) => void
  /** What is done under the lock, for the message: "indexes train.tar". */
  what?: string
}

const held = new Set<string>()
/** The text of locks of this process. */
let own: string | undefined
let hooked = false

/** Runs `work` under the lock, waiting for it as long as its holder lives. */
export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  await acquire(path, options)
  const touching = setInterval(() => touch(path), TOUCH.every).unref()
  try {
    return await work()
  } finally {
    clearInterval(touching)
    release(path)
  }
}

/** What was last seen of a lock that another holds, and since when it is unchanged. */
interface Watch {
  text: string
  mtime: number
  since: number
}

async function acquire(path: string, { notice, what = 'works here' }: LockOptions): Promise<void> {
  const watch: Watch = { text: '', mtime: 0, since: Date.now() }
  let tell = Date.now() + TELL.after
  for (let wait = WAIT.first; !tryCreate(path); wait = Math.min(2 * wait, WAIT.last)) {
    if (isStale(path, watch)) takeAway(path, watch.text)
    else await sleep(wait)
    if (Date.now() < tell) continue
    notice?.(`waiting for ${holder(watch.text)}, which ${what} (${path})`)
    tell = Date.now() + TELL.again
  }
  held.add(path)
  if (!hooked) process.once('exit', () => held.forEach(release))
  hooked = true
}

function release(path: string): void {
  held.delete(path)
  rmSync(path, { force: true })
}

/** Makes the lock, with its text in it; false when another has it. A disk without room for the text leaves nothing. */
function tryCreate(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false
  own ??= `${process.pid} ${startTime(process.pid)} ${NAMESPACE} ${hostname()}\n`
  const text = own
  const draft = Draft.open(path)
  try {
    draft.write(Buffer.from(text))
  } catch (error) {
    draft.discard()
    throw error
  }
  try {
    return draft.commitNew()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== 'link') throw error
    return createInPlace(path, text) // a file system without hard links
  }
}

function createInPlace(path: string, text: string): boolean {
  let fd: number
  try {
    fd = openSync(path, 'wx', 0o644)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    writeFileSync(fd, text)
    return true
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** Whether the lock's holder is dead. Remembers in `watch` what it saw, to notice that the file is not touched. */
function isStale(path: string, watch: Watch): boolean {
  const seen = look(path)
  if (seen === undefined) return false // gone: the next attempt will get it
  if (seen.text !== watch.text || seen.mtime !== watch.mtime)
    Object.assign(watch, { ...seen, since: Date.now() })
  const [pid, start, namespace] = seen.text.trimEnd().split(' ')
  if (namespace === NAMESPACE && namespace !== NO_PROC) return startTime(Number(pid)) !== start
  const named = namespace !== undefined
  return Date.now() - watch.since > (named ? TOUCH.dead : TOUCH.nameless)
}

/** Text and time of a lock; undefined when it is gone. Anything but a regular file is an error: it can't be waited for. */
function look(path: string): { text: string; mtime: number } | undefined {
  try {
    const { fd, stats } = openRegular(path)
    try {
      return { text: readFileSync(fd, 'latin1').slice(0, 1024), mtime: stats.mtimeMs }
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Who holds a lock, by its text. */
function holder(text: string): string {
  const [pid, , namespace, host] = text.trimEnd().split(' ')
  if (namespace === undefined) return 'a process that its lock does not name'
  if (namespace === NAMESPACE) return pid === String(process.pid) ? 'this process itself' : `process ${pid}`
  return `process ${pid} on ${host ?? 'another host'}, or in another container`
}

/**
 * Removes a stale lock. Another process may have taken it over in the meantime: the file is moved aside first, and
 * put back if it is not the stale one. What remains of the race costs a second build, never a wrong index, since
 * an index appears by rename.
 */
function takeAway(path: string, stale: string): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (look(aside)?.text === stale) rmSync(aside, { force: true })
    else renameSync(aside, path)
  } catch {
    // Another process was quicker.
  }
}

function touch(path: string): void {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // The folder is gone, or the lock was removed by hand: the build goes on and ends by rename.
  }
}

const NO_PROC = 'unknown'

/** Which pids we can look up: this boot of this host, this pid namespace. */
const NAMESPACE = ((): string => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return NO_PROC // only the touching tells
  }
})()
