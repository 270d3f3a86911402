/**
 * Reads batches out of the memory of an engine's ring, through /proc/PID/fd, without a word to the engine. Nothing is held: the
 * makers may fill a slot anew while it is read. So its header is read before and after, and what lies between counts only if
 * both are the same.
 */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs'
import { CONTROL_BYTES, HELD, MAX_DEPTH, Word } from '../../../core/batch/control-words.js'
import type { FieldPlace, SlotLayout } from '../../../core/batch/layout.js'
import { HEADER_BYTES, Header, Stamp } from '../../../core/batch/slot-words.js'
import type { RingNote } from '../../../core/engine/ring/ring-note.js'

/** A batch that is ready, as its header says. */
export interface ReadyBatch {
  slot: number
  header: Buffer
  batch: number
  epoch: number
  step: number
  rows: number
  /** When it was completed (s of CLOCK_MONOTONIC). */
  completed: number
}

export class RingBytes {
  private constructor(
    private readonly words: number,
    private readonly data: number,
    readonly layout: SlotLayout,
    private readonly capacity: number,
  ) {}

  /** Undefined: it is gone, or its numbers belong to other files by now. */
  static open(engine: number, { memory, layout, capacity }: RingNote): RingBytes | undefined {
    const bytes = CONTROL_BYTES + capacity * layout.bytes
    const words = openRegion(engine, memory.words, bytes)
    if (words === undefined) return undefined
    const data = memory.data === memory.words ? words : openRegion(engine, memory.data, bytes)
    if (data === undefined) {
      closeSync(words)
      return undefined
    }
    return new RingBytes(words, data, layout, capacity)
  }

  close(): void {
    closeSync(this.words)
    if (this.data !== this.words) closeSync(this.data)
  }

  /** Batches that are ready, the newest first. Those that the trainer holds are among them. */
  ready(): ReadyBatch[] {
    const found: ReadyBatch[] = []
    const control = this.read(this.words, 0, 4 * (Word.Holder + MAX_DEPTH))
    for (let slot = 0; slot < this.capacity; slot++) {
      if (control.readInt32LE(4 * (Word.Holder + slot)) !== HELD) continue
      const header = this.header(slot)
      if (header.readInt32LE(4 * Header.Ready) !== 1) continue
      found.push({
        slot,
        header,
        batch: header.readInt32LE(4 * Header.Batch) - 1,
        epoch: header.readDoubleLE(8 * Stamp.Epoch),
        step: header.readDoubleLE(8 * Stamp.Step),
        rows: Math.max(0, Math.min(this.layout.rows, header.readInt32LE(4 * Header.Count))),
        completed: header.readDoubleLE(8 * Stamp.Completed),
      })
    }
    return found.sort((a, b) => b.completed - a.completed)
  }

  /** Batches by where they are: ready, being made, and held by the trainer, whose newest is `taken` (−1: none yet). */
  counts(taken: number): { ready: number; filling: number; held: number } {
    const control = this.read(this.words, 0, 4 * (Word.Holder + MAX_DEPTH))
    const counts = { ready: 0, filling: 0, held: 0 }
    for (let slot = 0; slot < this.capacity; slot++) {
      if (control.readInt32LE(4 * (Word.Holder + slot)) === 0) continue
      const header = this.header(slot)
      const isReady = header.readInt32LE(4 * Header.Ready) === 1
      const batch = header.readInt32LE(4 * Header.Batch) - 1
      counts[isReady ? (batch <= taken ? 'held' : 'ready') : 'filling']++
    }
    return counts
  }

  /** Whether a slot still has the batch that it had. */
  still({ slot, header }: ReadyBatch): boolean {
    return this.header(slot).equals(header)
  }

  /** Bytes of a column: before `dataAt`. */
  column(slot: number, at: number, bytes: number): Buffer {
    return this.read(this.words, this.placeOf(slot) + at, bytes)
  }

  /** Bytes of a field. Never more than it has. */
  field(slot: number, { at, bytes }: FieldPlace, from: number, length: number): Buffer {
    const first = Math.max(0, Math.min(bytes, from))
    const count = Math.max(0, Math.min(bytes - first, length))
    return this.read(this.data, this.placeOf(slot) + at + first, count)
  }

  private header(slot: number): Buffer {
    return this.read(this.words, this.placeOf(slot), HEADER_BYTES)
  }

  private placeOf(slot: number): number {
    return CONTROL_BYTES + slot * this.layout.bytes
  }

  /** What is not there is zeros. */
  private read(fd: number, at: number, bytes: number): Buffer {
    const into = Buffer.alloc(bytes)
    for (let got = 0; got < bytes; ) {
      const more = readSync(fd, into, got, bytes - got, at + got)
      if (more === 0) break
      got += more
    }
    return into
  }
}

function openRegion(pid: number, number: number, bytes: number): number | undefined {
  const path = `/proc/${pid}/fd/${number}`
  let fd: number | undefined
  try {
    if (!readlinkSync(path).startsWith('/memfd:millrace')) return undefined
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (fstatSync(fd).size === bytes) return fd
  } catch {
    // Closed meanwhile.
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}
