/** What the notes of an engine say of its rings: what they hold, which samples are bad, and what the tuner decided. */
import type { BadNote, RingNote } from '../../../core/engine/ring/ring-note.js'
import { NotesReader, type WrittenNote } from '../../../core/spans/notes.js'
import type { TunerDecision } from '../../live/record.js'
import { areNumbers, areTexts, isDecision, isObject } from '../../log/check.js'

/** Decisions that are kept; and bad samples of a ring, the last ones. */
const MOST_DECISIONS = 200
const MOST_BAD = 200
/** An engine without notes is asked again after so many looks: it may write some later. */
const AGAIN = 5

/** A note, and when it was written (ms of CLOCK_MONOTONIC). */
export type FoundBad = BadNote & { at: number }

export class EngineFacts {
  readonly decisions: TunerDecision[] = []
  private readonly rings = new Map<number, RingNote>()
  /** By ring, then by the sample's number. */
  private readonly badOnes = new Map<number, Map<number, FoundBad>>()
  private reader: NotesReader | undefined
  private asked = 0

  constructor(readonly pid: number) {
    this.reader = NotesReader.open(pid)
    this.look()
  }

  look(): void {
    if (this.reader === undefined && ++this.asked % AGAIN === 0) this.reader = NotesReader.open(this.pid)
    let notes: WrittenNote[] = []
    try {
      notes = this.reader?.since() ?? []
    } catch {
      // Notes are no reason to stop looking.
    }
    for (const note of notes) this.hear(note)
  }

  ring(ring: number): RingNote | undefined {
    return this.rings.get(ring)
  }

  /** The last ones, in the order in which they were found bad. */
  bad(ring: number): FoundBad[] {
    return [...(this.badOnes.get(ring)?.values() ?? [])].sort((a, b) => a.count - b.count)
  }

  close(): void {
    this.reader?.close()
    this.reader = undefined
  }

  /** Notes that are kept are written again now and then: each counts once. */
  private hear(note: WrittenNote): void {
    const { kind, decision } = note
    if (kind === 'ring' && isRingNote(note)) this.rings.set(note.ring, note)
    else if (kind === 'bad' && isBadNote(note)) this.hearBad(note)
    else if (kind === 'tuner' && isDecision(decision)) {
      this.decisions.push(decision)
      if (this.decisions.length > MOST_DECISIONS) this.decisions.shift()
    }
  }

  private hearBad(note: FoundBad): void {
    const known = this.badOnes.get(note.ring) ?? new Map<number, FoundBad>()
    this.badOnes.set(note.ring, known)
    known.set(note.count, note)
    if (known.size > MOST_BAD) known.delete(Math.min(...known.keys()))
  }
}

/** What the tuner does now, in words: its last decision says it. */
export function tunerState(decisions: readonly TunerDecision[]): string {
  const last = decisions.at(-1)
  if (last === undefined) return 'looking'
  const { event, knob, to, reason } = last
  if (event === 'tried') return `checking ${knob} = ${to}`
  if (event === 'frozen') return `at rest: ${reason}`
  return event === 'woken' ? `looking again: ${reason}` : 'looking'
}

export function isRingNote(note: unknown): note is RingNote {
  return (
    areNumbers(note, ['ring', 'rank', 'world', 'capacity']) &&
    areTexts(note, ['feed', 'root']) &&
    areNumbers(note.memory, ['words', 'data']) &&
    isLayout(note.layout) &&
    (note.definition === null || isDefinition(note.definition))
  )
}

export function isBadNote(note: unknown): note is BadNote {
  return (
    areNumbers(note, ['ring', 'count']) &&
    areTexts(note, ['id', 'message']) &&
    (note.file === undefined || typeof note.file === 'string') &&
    (note.offset === undefined || areNumbers(note, ['offset']))
  )
}

const COLUMNS = ['rows', 'bytes', 'statusAt', 'positionAt', 'rowAt', 'sourceAt', 'dataAt']
const PLACES = ['unitBytes', 'at', 'bytes', 'lengthAt', 'placeAt', 'offsetsAt', 'stagingAt']

function isLayout(layout: unknown): boolean {
  return areNumbers(layout, COLUMNS) && Array.isArray(layout.fields) && layout.fields.every(isPlace)
}

function isPlace(field: unknown): boolean {
  return (
    areTexts(field, ['name', 'dtype']) &&
    areNumbers(field, PLACES) &&
    isShape(field.shape) &&
    (field.device === undefined || isDevice(field.device))
  )
}

function isDevice(device: unknown): boolean {
  return (
    areTexts(device, ['kind']) &&
    (device.dtype === undefined || typeof device.dtype === 'string') &&
    (device.shape === undefined || isShape(device.shape))
  )
}

function isShape(shape: unknown): boolean {
  return Array.isArray(shape) && shape.every(one => Number.isFinite(one))
}

function isDefinition(definition: unknown): boolean {
  if (!isObject(definition) || !isObject(definition.fields)) return false
  return Object.values(definition.fields).every(field => areTexts(field, ['as']))
}
