/**
 * The files that a thread keeps open, for all of its stores together. A maker has a store for each ring that it serves,
 * and rings often read the same shards. A dataset of ten thousand shards does not need ten thousand descriptors in every
 * maker: the file that was used longest ago is closed, and opened again when it is needed.
 */
import { closeSync, fstatSync, statSync } from 'node:fs'
import { countOpen } from '../spans/clock.js'
import { openWithoutWaiting } from '../system/files/regular.js'
import { filesAWorker } from '../system/process/limits.js'

interface OpenFile {
  path: string
  fd: number
  /** The stores that read it. */
  users: Set<object>
  /** When it was last asked for, as a count of all requests. */
  used: number
  /** Reads in flight: until they end it stays open, though it may have left the table. */
  reading: number
}

/**
 * Of this thread, by path. A path has several where its file was replaced: stores that read the old one go on with it, as
 * they would if each had opened it by itself.
 */
const open = new Map<string, OpenFile[]>()
let opened = 0
/** As many as this thread keeps; known when it first opens one. */
let most: number | undefined
let requests = 0

/** The descriptor of a file for one of this thread's stores; `begin` gets it when this store has it for the first time. */
export function openFile(path: string, user: object, begin?: (fd: number) => void): number {
  return opening(path, user, begin).fd
}

/** Runs `work` with the descriptor of a file, which stays open until `work` ends. */
export async function whileOpen<T>(
  path: string,
  user: object,
  begin: ((fd: number) => void) | undefined,
  work: (fd: number) => Promise<T>,
): Promise<T> {
  const file = opening(path, user, begin)
  file.reading++
  try {
    return await work(file.fd)
  } finally {
    file.reading--
    if (file.users.size === 0) closeUnread(file)
  }
}

function opening(path: string, user: object, begin?: (fd: number) => void): OpenFile {
  let file = fileOf(path, user)
  if (file === undefined) {
    const begun = performance.now()
    file = open.get(path)?.find(({ fd }) => leadsTo(path, fd)) ?? openAnew(path)
    file.users.add(user)
    begin?.(file.fd)
    countOpen(begun)
  }
  file.used = ++requests
  return file
}

/** The descriptor that a store has of a file now. */
export function openedFile(path: string, user: object): number | undefined {
  return fileOf(path, user)?.fd
}

/** Closes the files that no other store of this thread reads. */
export function closeFiles(user: object): void {
  for (const file of [...open.values()].flat()) {
    if (file.users.delete(user) && file.users.size === 0) close(file)
  }
}

function fileOf(path: string, user: object): OpenFile | undefined {
  return open.get(path)?.find(({ users }) => users.has(user))
}

/** Whether a path is still that of the open file: a store that begins must not read one that was replaced. */
function leadsTo(path: string, fd: number): boolean {
  const there = statSync(path, { throwIfNoEntry: false })
  const here = fstatSync(fd)
  return there !== undefined && there.ino === here.ino && there.dev === here.dev
}

function openAnew(path: string): OpenFile {
  most ??= filesAWorker()
  if (opened >= most) closeOldest()
  const file = { path, fd: openWithoutWaiting(path), users: new Set<object>(), used: 0, reading: 0 }
  open.set(path, [...(open.get(path) ?? []), file])
  opened++
  return file
}

function closeOldest(): void {
  close([...open.values()].flat().reduce((a, b) => (a.used <= b.used ? a : b)))
}

function close(file: OpenFile): void {
  const others = (open.get(file.path) ?? []).filter(other => other !== file)
  if (others.length > 0) open.set(file.path, others)
  else open.delete(file.path)
  opened--
  file.users.clear()
  closeUnread(file)
}

function closeUnread(file: OpenFile): void {
  if (file.reading === 0) closeSync(file.fd)
}
