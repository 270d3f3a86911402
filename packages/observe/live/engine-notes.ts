/** What the notes of an engine (spans/notes.ts) say of one run: what the tuner decided, and how many samples were bad. */
import { NotesReader, type WrittenNote } from '../../core/spans/notes.js'
import { isDecision } from '../log/check.js'
import type { TunerDecision } from './decision.js'

/** An engine without notes is asked again after this time (looks): it may write some later. */
const AGAIN = 15

export class EngineNotes {
  private reader: NotesReader | undefined
  private asked = 0
  /** Rings that the run has had: another one takes over where another is to decode. */
  private readonly rings = new Set<number>()
  /** Bad samples by ring: a run may have several, one after the other. */
  private readonly bad = new Map<number, number>()

  /** Decisions are those that come from now on. */
  constructor(
    private readonly pid: number,
    private readonly ring: () => number,
  ) {
    this.rings.add(ring())
    this.reader = NotesReader.open(pid)
    this.count(this.read())
  }

  /** What was written since the last look; and all bad samples. */
  look(): { decisions: TunerDecision[]; bad: number } {
    if (this.reader === undefined && ++this.asked % AGAIN === 0) this.reader = NotesReader.open(this.pid)
    const notes = this.read()
    this.rings.add(this.ring())
    this.count(notes)
    const decisions = notes.flatMap(({ kind, decision }) =>
      kind === 'tuner' && isDecision(decision) && this.rings.has(decision.ring) ? [decision] : [],
    )
    return { decisions, bad: [...this.bad.values()].reduce((sum, count) => sum + count, 0) }
  }

  close(): void {
    this.reader?.close()
    this.reader = undefined
  }

  private read(): WrittenNote[] {
    try {
      return this.reader?.since() ?? []
    } catch {
      return [] // notes are no reason to stop watching
    }
  }

  private count(notes: readonly WrittenNote[]): void {
    for (const { kind, ring, count } of notes)
      if (kind === 'bad' && typeof count === 'number' && this.rings.has(Number(ring)))
        this.bad.set(Number(ring), Math.max(count, this.bad.get(Number(ring)) ?? 0))
  }
}
