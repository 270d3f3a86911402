/**
 * Notes of an engine's process: what spans have no room for, as lines of JSON that any process of the same user can read while
 * it runs and nothing has to be set. What each ring delivers, what the tuner decides and why, which samples are bad.
 *
 *   0 "MILLNOTE"  8 version  12 pid │ 64 one half │ … the other half
 *   a line: checksum of the rest (8 hex digits) " " {"number":1,"at":…,"kind":…,…} "\n"
 *
 * Lines are appended to one half until it is full, then to the other one, over what was there. Notes with a key are written
 * again then: the latest of each key is never lost. A line whose checksum is wrong was being written, or written over.
 */
import { closeSync, constants, openSync, readdirSync, readlinkSync, readSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { createRegion, seal } from '../system/memory/memory.js'
import { monotonicMs } from './clock.js'
import { spansAreOff } from './level.js'

/** By this name /proc shows the memory among a process's descriptors. */
const NOTES_NAME = 'millrace-notes'
const NOTES_MAGIC = 'MILLNOTE'
const NOTES_VERSION = 1
const HEAD_BYTES = 64
/** Of a half; and of one line: a longer one is not written. */
const HALF_BYTES = 2 ** 19
const MOST_BYTES = 2 ** 16
const BYTES = HEAD_BYTES + 2 * HALF_BYTES

/** A note: its kind says what else is in it. */
export interface Note {
  kind: string
  [more: string]: unknown
}

/** A note as it is read: notes of a process are numbered, and `at` is ms of CLOCK_MONOTONIC. */
export interface WrittenNote extends Note {
  number: number
  at: number
}

export class Notes {
  private static instance: Notes | null | undefined

  /** Those of this process. Undefined: spans are turned off, or there is no memory. */
  static shared(): Notes | undefined {
    if (Notes.instance === undefined) Notes.instance = spansAreOff() ? null : make()
    return Notes.instance ?? undefined
  }

  private number = 0
  private half = 0
  private used = 0
  private readonly keyed = new Map<string, Note & { at: number }>()

  constructor(readonly fd: number) {
    const head = Buffer.alloc(HEAD_BYTES)
    head.write(NOTES_MAGIC, 'latin1')
    head.writeUInt32LE(NOTES_VERSION, 8)
    head.writeUInt32LE(process.pid, 12)
    writeSync(fd, head, 0, head.length, 0)
  }

  /** Writes a note; with a key, in the place of the one that had it. False: it is too long, and was not written. */
  write(note: Note, key?: string): boolean {
    const timed = { ...note, at: monotonicMs() }
    const line = this.lineOf(timed)
    if (line.length > MOST_BYTES) return false
    if (key !== undefined) this.keyed.set(key, timed)
    if (this.used + line.length > HALF_BYTES) this.switchHalf()
    this.append(line)
    return true
  }

  /** The note of a key need not be kept any more. */
  forget(key: string): void {
    this.keyed.delete(key)
  }

  private switchHalf(): void {
    this.half = 1 - this.half
    this.used = 0
    const notes = [...this.keyed.values()]
    // Those that are kept take at most half of the room.
    let room = HALF_BYTES / 2
    for (const note of notes.reverse()) {
      const line = this.lineOf(note)
      room -= line.length
      if (room > 0) this.append(line)
    }
  }

  private lineOf(note: Note): Buffer {
    const text = JSON.stringify({ number: ++this.number, ...note })
    return Buffer.from(`${checksum(Buffer.from(text))} ${text}\n`)
  }

  private append(line: Buffer): void {
    try {
      writeSync(this.fd, line, 0, line.length, HEAD_BYTES + this.half * HALF_BYTES + this.used)
      this.used += line.length
    } catch {
      // No memory left: the note is lost, the feed goes on.
    }
  }
}

/** The notes of a process, oldest first. Undefined: it has none, has ended, or is another user's. */
export function readNotes(pid: number): WrittenNote[] | undefined {
  const reader = NotesReader.open(pid)
  try {
    return reader?.all()
  } finally {
    reader?.close()
  }
}

/** Reads the notes of a process again and again. What it had written stays, when it is killed. */
export class NotesReader {
  private last = 0
  /** What stands behind the last line of each half, and at their beginnings: unless this changes, nothing is new. */
  private seen = ''
  private ends: readonly number[] = [0, HALF_BYTES]

  private constructor(private readonly fd: number) {}

  static open(pid: number): NotesReader | undefined {
    const fd = openNotes(pid)
    return fd === undefined ? undefined : new NotesReader(fd)
  }

  /** All that are still there, oldest first. */
  all(): WrittenNote[] {
    const bytes = Buffer.alloc(BYTES - HEAD_BYTES)
    const length = readSync(this.fd, bytes, 0, bytes.length, HEAD_BYTES)
    const { notes, ends } = notesIn(bytes.subarray(0, length))
    this.ends = ends
    this.last = notes.at(-1)?.number ?? this.last
    return notes
  }

  /** Those that were written since it was last asked. Costs next to nothing where there are none. */
  since(): WrittenNote[] {
    const places = () => [0, HALF_BYTES, ...this.ends].map(at => this.peek(at)).join()
    if (places() === this.seen) return []
    const { last } = this
    const notes = this.all().filter(({ number }) => number > last)
    this.seen = places()
    return notes
  }

  close(): void {
    closeSync(this.fd)
  }

  private peek(at: number): string {
    const bytes = Buffer.alloc(16)
    return bytes.toString('latin1', 0, readSync(this.fd, bytes, 0, bytes.length, HEAD_BYTES + at))
  }
}

/** Notes, oldest first, and where the latest line of each half ends. */
function notesIn(bytes: Buffer): { notes: WrittenNote[]; ends: number[] } {
  const notes = new Map<number, WrittenNote>()
  const ends = [0, HALF_BYTES]
  const latest = [0, 0]
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at)
    if (end < 0) break
    const note = noteIn(bytes.subarray(at, end))
    if (note) {
      const half = end < HALF_BYTES ? 0 : 1
      notes.set(note.number, note)
      if (note.number >= latest[half]) {
        latest[half] = note.number
        ends[half] = end + 1
      }
    }
    at = end + 1
  }
  return { notes: [...notes.values()].sort((a, b) => a.number - b.number), ends }
}

function noteIn(line: Buffer): WrittenNote | undefined {
  // What was there before a half was begun again is zeros, or the rest of a line.
  const from = line.lastIndexOf(0) + 1
  const whole = line.subarray(from)
  const text = whole.subarray(9)
  if (whole.length < 10 || whole.toString('latin1', 0, 8) !== checksum(text)) return undefined
  try {
    return JSON.parse(text.toString('utf8')) as WrittenNote
  } catch {
    return undefined
  }
}

function checksum(bytes: Buffer): string {
  return crc32(bytes).toString(16).padStart(8, '0')
}

function openNotes(pid: number): number | undefined {
  const folder = `/proc/${pid}/fd`
  try {
    for (const name of readdirSync(folder)) {
      const path = `${folder}/${name}`
      if (!nameOf(path).startsWith(`/memfd:${NOTES_NAME}`)) continue
      const fd = openSync(path, constants.O_RDONLY)
      const head = Buffer.alloc(16)
      const whole = readSync(fd, head, 0, 16, 0) === 16 && head.toString('latin1', 0, 8) === NOTES_MAGIC
      if (whole && head.readUInt32LE(8) === NOTES_VERSION && head.readUInt32LE(12) === pid) return fd
      closeSync(fd)
    }
  } catch {
    // It has ended, or is another user's.
  }
  return undefined
}

function nameOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed meanwhile
  }
}

function make(): Notes | null {
  try {
    const region = createRegion(BYTES, NOTES_NAME)
    seal(region, false)
    return new Notes(region.fd)
  } catch {
    return null // no descriptors or memory left
  }
}
