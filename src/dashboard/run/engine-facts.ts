/** What the notes of an engine say of its rings: what they hold, which samples are bad, and what the tuner decided. */
import type { BadNote, RingNote } from '../../engine/control/ring-note.js'
import type { TunerDecision } from '../../observe/live/decision.js'
import { NotesReader, type WrittenNote } from '../../spans/notes.js'

/** Decisions that are kept. */
const MOST_DECISIONS = 200
/** An engine without notes is asked again after so many looks: it may write some later. */
const AGAIN = 5

export class EngineFacts {
  readonly decisions: TunerDecision[] = []
  private readonly rings = new Map<number, RingNote>()
  /** By ring, then by the sample's name. */
  private readonly badOnes = new Map<number, Map<string, BadNote>>()
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

  /** In the order in which they were found bad. */
  bad(ring: number): BadNote[] {
    return [...(this.badOnes.get(ring)?.values() ?? [])]
  }

  close(): void {
    this.reader?.close()
    this.reader = undefined
  }

  /** Notes that are kept are written again now and then: each counts once. */
  private hear(note: WrittenNote): void {
    const { kind } = note
    if (kind === 'ring') {
      const told = note as unknown as RingNote
      this.rings.set(told.ring, told)
    } else if (kind === 'bad') {
      const told = note as unknown as BadNote
      const known = this.badOnes.get(told.ring) ?? new Map<string, BadNote>()
      this.badOnes.set(told.ring, known)
      if (!known.has(told.id)) known.set(told.id, told)
    } else if (kind === 'tuner' && typeof note.decision === 'object' && note.decision !== null) {
      this.decisions.push(note.decision as TunerDecision)
      if (this.decisions.length > MOST_DECISIONS) this.decisions.shift()
    }
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
