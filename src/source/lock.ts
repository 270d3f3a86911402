/**
 * One builder at a time, among all processes that see the same folder. The lock is a file made with O_EXCL that
 * names its holder: pid and start time, so that a lock left by a killed process is known as such and taken over,
 * even when its pid has been given to another. A holder that can't be looked up (another host on a network file
 * system, another container) shows that it lives by touching the file.
 */
import {
  closeSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTime } from '../system/process.js'

/** Between looks at a lock held by another: grows from the first to the last, in ms. */
const WAIT = { first: 2, last: 200 }
/** The holder touches its lock this often; one that stays untouched for `dead` is stale. In ms. */
const TOUCH = { every: 5_000, dead: 60_000 }

const held = new Set<string>()
let hooked = false

/** Runs `work` under the lock, waiting for it as long as its holder lives. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await acquire(path)
  const touching = setInterval(() => touch(path), TOUCH.every).unref()
  try {
    return await work()
  } finally {
    clearInterval(touching)
    release(path)
  }
}

async function acquire(path: string): Promise<void> {
  const watch = { text: '', mtime: 0, since: Date.now() }
  for (let wait = WAIT.first; !tryCreate(path); wait = Math.min(2 * wait, WAIT.last)) {
    if (isStale(path, watch)) takeAway(path, watch.text)
    else await sleep(wait)
  }
  held.add(path)
  if (!hooked) process.once('exit', () => held.forEach(release))
  hooked = true
}

function release(path: string): void {
  held.delete(path)
  rmSync(path, { force: true })
}

function tryCreate(path: string): boolean {
  let fd: number
  try {
    fd = openSync(path, 'wx', 0o644)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  try {
    writeSync(fd, `${process.pid} ${startTime(process.pid)} ${NAMESPACE}\n`)
  } finally {
    closeSync(fd)
  }
  return true
}

/** Whether the lock's holder is dead. Remembers in `watch` what it saw, to notice that nobody touches the file. */
function isStale(path: string, watch: { text: string; mtime: number; since: number }): boolean {
  let text: string
  let mtime: number
  try {
    text = readFileSync(path, 'latin1')
    mtime = statSync(path).mtimeMs
  } catch {
    return false // gone: the next attempt will get it
  }
  if (text !== watch.text || mtime !== watch.mtime) Object.assign(watch, { text, mtime, since: Date.now() })
  const [pid, start, namespace] = text.trimEnd().split(' ')
  // An empty file belongs to a process that is just writing its name into it, or died between the two.
  if (namespace === NAMESPACE && namespace !== NO_PROC) return startTime(Number(pid)) !== start
  return Date.now() - watch.since > TOUCH.dead
}

/**
 * Removes a stale lock. Somebody else may have taken it over in the meantime: the file is moved aside first, and
 * put back if it is not the stale one. What remains of the race costs a second build, never a wrong index, since
 * an index appears by rename.
 */
function takeAway(path: string, stale: string): void {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
    if (readFileSync(aside, 'latin1') === stale) rmSync(aside, { force: true })
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
