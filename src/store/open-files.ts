/**
 * The files that a thread keeps open, for all of its stores together. A maker has a store for each ring that it serves,
 * and rings often read the same shards. A dataset of ten thousand shards does not need ten thousand descriptors in every
 * maker: the file that was used longest ago is closed, and opened again when it is needed.
 */
import { closeSync, fstatSync, statSync } from 'node:fs'
import { openWithoutWaiting } from '../system/files/regular.js'
import { FILES_A_WORKER } from '../system/process/limits.js'

interface OpenFile {
  fd: number
  /** The stores that read it. */
  users: Set<object>
  /** When it was last asked for, as a count of all requests. */
  used: number
}

/** Of this thread, by path. */
const open = new Map<string, OpenFile>()
let requests = 0

/** The descriptor of a file for one of this thread's stores; `begin` gets it when this store has it for the first time. */
export function openFile(path: string, user: object, begin?: (fd: number) => void): number {
  let file = open.get(path)
  if (file === undefined || !file.users.has(user)) {
    file = file !== undefined && leadsTo(path, file.fd) ? file : openAnew(path)
    file.users.add(user)
    begin?.(file.fd)
  }
  file.used = ++requests
  return file.fd
}

/** The descriptor that a store has of a file now. */
export function openedFile(path: string, user: object): number | undefined {
  const file = open.get(path)
  return file?.users.has(user) ? file.fd : undefined
}

/** Closes the files that no other store of this thread reads. */
export function closeFiles(user: object): void {
  for (const [path, file] of open) {
    if (file.users.delete(user) && file.users.size === 0) close(path, file)
  }
}

/** Whether a path is still that of the open file: a store that begins must not read one that was replaced. */
function leadsTo(path: string, fd: number): boolean {
  const there = statSync(path, { throwIfNoEntry: false })
  const here = fstatSync(fd)
  return there !== undefined && there.ino === here.ino && there.dev === here.dev
}

function openAnew(path: string): OpenFile {
  const replaced = open.get(path)
  if (replaced !== undefined) close(path, replaced)
  if (open.size >= FILES_A_WORKER) closeOldest()
  const file = { fd: openWithoutWaiting(path), users: new Set<object>(), used: 0 }
  open.set(path, file)
  return file
}

function closeOldest(): void {
  const [path, file] = [...open].reduce((a, b) => (a[1].used <= b[1].used ? a : b))
  close(path, file)
}

function close(path: string, file: OpenFile): void {
  open.delete(path)
  closeSync(file.fd)
}
