/** A run that is looked at: all of its ranks on this machine, their engines' notes, and what a page is told of them. */

import type { RingNote } from '../../../core/engine/ring/ring-note.js'
import type { AttachedSpans } from '../../../core/spans/attach.js'
import { type FoundRun, sourceOfRun } from '../../diagnose/attach/find-run.js'
import { otherRanks } from '../../diagnose/attach/other-ranks.js'
import type { RunRecord } from '../../live/record.js'
import { RunWatcher, type Watched } from '../../live/watcher.js'
import { fitModel } from '../../model/fit.js'
import { badPicture } from '../gallery/bad-pictures.js'
import { RingBytes } from '../gallery/ring-bytes.js'
import type { BadSample, Hello, Now, RunName } from '../view.js'
import { EngineFacts, type FoundBad, tunerState } from './engine-facts.js'
import { nameOf, plainName } from './runs.js'
import type { SpansOfProcess } from './timeline.js'

/** Ranks may start later than others: they are looked for this often (ms). */
const RANKS_OFTEN = 10_000
/** Samples that are told at most. */
const MOST_BAD = 200

interface Rank {
  found: FoundRun
  watcher: RunWatcher
  /** The ring in the engine. It may be another one after a while: another decoder has rings of its own. */
  ring: number
}

export class WatchedRun {
  /** By rank. */
  private readonly ranks = new Map<number, Rank>()
  private readonly engines = new Map<number, EngineFacts>()
  private looked = performance.now()
  /** By ring and address: whether the picture of a bad sample can be shown. */
  private readonly shown = new Map<string, boolean>()

  /** `idealMs`: how long a step takes with its batch at hand, where that is known. */
  constructor(
    private readonly found: FoundRun,
    private readonly idealMs?: number,
  ) {
    this.add(found)
    this.addOthers()
  }

  get engine(): number {
    return this.found.engine.pid
  }

  /** The ring in the engine. */
  get ring(): number {
    return this.own.ring
  }

  /** The rank by which the run was found. */
  private get own(): Rank {
    return this.ranks.get(this.found.trainer.ring.rank) as Rank
  }

  /** Whether its feed is. */
  get isOpen(): boolean {
    return this.found.engine.spans.rings().some(({ ring, open }) => open && ring === this.ring)
  }

  get feed(): string {
    return this.found.trainer.ring.name
  }

  get name(): RunName {
    const { trainer } = this.found
    return { ...plainName(nameOf(trainer.pid, trainer.ring)), ring: this.ring }
  }

  /** Why there is nothing to be seen any more. */
  get ended(): string | undefined {
    return this.own.watcher.ended
  }

  /** What happened in the last second. */
  look(): { now: Now; records: RunRecord[] } {
    if (performance.now() - this.looked > RANKS_OFTEN) this.addOthers()
    for (const facts of this.engines.values()) facts.look()
    const ranks = [...this.ranks].sort(([a], [b]) => a - b).map(([, rank]) => rank)
    const watched = ranks.map(rank => {
      const seen = rank.watcher.look()
      rank.ring = seen.record.ring
      return seen
    })
    this.dropEnded()
    const worst = worstOf(watched)
    const records = watched.map(({ record }) => record)
    const now = {
      ranks: records,
      worst: worst?.window ? toldWindow(worst.record.rank, worst.window) : null,
      told: null,
      makers: (worst ?? watched[0])?.makers ?? [],
      tuner: this.tuner(),
      bad: this.bad(),
    }
    return { now, records }
  }

  /** What batches hold. */
  get fields(): Hello['fields'] {
    const note = this.note
    return (note?.layout.fields ?? []).map(({ name, dtype, shape, device }) => ({
      name,
      dtype: device?.dtype ?? dtype,
      shape: [...(device?.shape ?? shape)],
      kind: note?.definition?.fields[name]?.as ?? '',
    }))
  }

  get definition(): unknown {
    return this.note?.definition ?? null
  }

  get note() {
    return this.engines.get(this.engine)?.ring(this.ring)
  }

  /** `number`: which of the rank's bad samples. */
  badPicture(rank: number, number: number): ReturnType<typeof badPicture> {
    const { note, bad } = this.badOf(rank)
    const found = bad.find(({ count }) => count === number)
    return note && found && badPicture(note, found)
  }

  /** The spans of all processes of the run. */
  get processes(): SpansOfProcess[] {
    const found = new Map<number, { spans: AttachedSpans; rings: Map<number, number> }>()
    const add = (pid: number, spans: AttachedSpans, ring: number, rank: number) => {
      const one = found.get(pid) ?? { spans, rings: new Map() }
      found.set(pid, one)
      one.rings.set(ring, rank)
    }
    for (const [number, rank] of this.ranks) {
      const { trainer, engine } = rank.found
      add(trainer.pid, trainer.spans, ringOfTrainer(rank), number)
      add(engine.pid, engine.spans, rank.ring, number)
    }
    // A loop and its engine have lanes of other kinds: only more processes than these need to be told apart.
    const many = found.size > 2
    return [...found].map(([pid, one]) => ({ ...one, prefix: many ? `${pid} ` : '' }))
  }

  close(): void {
    for (const rank of this.ranks.values()) closeRank(rank)
    for (const facts of this.engines.values()) facts.close()
  }

  private add(found: FoundRun): void {
    const { trainer, engine } = found
    const facts = this.engines.get(engine.pid) ?? new EngineFacts(engine.pid)
    this.engines.set(engine.pid, facts)
    // It begins with what is still there of the last seconds.
    const watcher = new RunWatcher(sourceOfRun(found), {
      past: true,
      trainer: trainer.pid,
      engine: engine.pid,
      slots: () => slotsOf(rank, facts),
      ...(this.idealMs !== undefined && { idealMs: this.idealMs }),
    })
    const rank: Rank = { found, watcher, ring: engine.ring }
    this.ranks.set(trainer.ring.rank, rank)
  }

  private addOthers(): void {
    this.looked = performance.now()
    for (const other of otherRanks(this.found)) {
      if (this.ranks.has(other.trainer.ring.rank)) other.close()
      else this.add(other)
    }
  }

  /** A rank that has ended is gone; the first one ends the run. */
  private dropEnded(): void {
    for (const [number, rank] of this.ranks) {
      if (rank.found === this.found || rank.watcher.ended === undefined) continue
      closeRank(rank)
      this.ranks.delete(number)
    }
  }

  private tuner(): Now['tuner'] {
    const decisions = [...this.engines.values()].flatMap(({ decisions }) => decisions)
    const own = decisions.filter(({ feed }) => feed === this.feed)
    return own.length === 0 ? null : { state: tunerState(own), decisions: own }
  }

  /** The last of all ranks, as they were found. */
  private bad(): BadSample[] {
    const ranks = [...this.ranks.keys()]
    const all = ranks.flatMap(rank => {
      const { note, bad } = this.badOf(rank)
      return bad.map(one => ({ rank, note, one }))
    })
    const last = all.sort((a, b) => a.one.at - b.one.at).slice(-MOST_BAD)
    return last.map(({ rank, note, one: { id, message, count }, one }) => {
      const place = `api/bad/${rank}.${count}`
      const key = `${one.ring} ${place}`
      const isShown = this.shown.get(key) ?? (note !== undefined && badPicture(note, one, true) !== undefined)
      this.shown.set(key, isShown)
      return { id, message, picture: isShown ? place : null }
    })
  }

  private badOf(rank: number): { note: RingNote | undefined; bad: FoundBad[] } {
    const known = this.ranks.get(rank)
    const facts = known && this.engines.get(known.found.engine.pid)
    if (known === undefined || facts === undefined) return { note: undefined, bad: [] }
    return { note: facts.ring(known.ring), bad: facts.bad(known.ring) }
  }
}

/** The number of the ring in the trainer's spans. */
function ringOfTrainer({ found: { trainer, engine }, ring }: Rank): number {
  if (trainer.pid === engine.pid) return ring
  const rings = trainer.spans.rings()
  const found = rings.findLast(one => one.engine === engine.pid && one.engineRing === ring)
  return found?.ring ?? trainer.ring.ring
}

function closeRank({ found, watcher }: Rank): void {
  watcher.close()
  found.close()
}

/** The rank that loses most. */
function worstOf(watched: readonly Watched[]): Watched | undefined {
  const known = watched.filter(({ window }) => window !== null)
  const lost = ({ window }: Watched) => window?.accounting.lost ?? 0
  return known.length === 0
    ? undefined
    : known.reduce((worst, one) => (lost(one) > lost(worst) ? one : worst))
}

function toldWindow(rank: number, { accounting, diagnosis, evidence }: NonNullable<Watched['window']>) {
  const { facts } = evidence
  return { rank, accounting, diagnosis, evidence: { facts, fit: fitModel(evidence, accounting) } }
}

/** Opened for each look: a ring's memory must not be held when it is closed. */
function slotsOf(rank: Rank, facts: EngineFacts): RunRecord['slots'] {
  const { trainer, engine } = rank.found
  const note = facts.ring(rank.ring)
  const ring = note && RingBytes.open(engine.pid, note)
  if (ring === undefined) return null
  try {
    return ring.counts(lastTaken(trainer.spans, ringOfTrainer(rank)))
  } finally {
    ring.close()
  }
}

/** Records of a loop that are looked at: its latest. */
const LATEST = 8

/** The number of the batch that was taken last from a ring; −1: none is known. */
function lastTaken(spans: AttachedSpans, ring: number): number {
  const cursor: number[] = []
  for (const { lane, written, kind } of spans.lanes())
    cursor[lane] = kind === 'consumer' ? Math.max(0, written - LATEST) : written
  const { records } = spans.readSince(
    Array.from(cursor, count => count ?? 0),
    ring,
  )
  let [last, at] = [-1, Number.NEGATIVE_INFINITY]
  for (const { kind, lane, batch, joined, start } of records) {
    if (lane.kind !== 'consumer' || batch < 0 || start < at) continue
    if (kind === 'hand' || kind === 'step') [last, at] = [batch + Math.max(1, joined) - 1, start]
  }
  return last
}
