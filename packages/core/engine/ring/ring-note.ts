/**
 * Notes of a ring (spans/notes.ts), for a page in another process: what its batches hold and where they lie, so that it can read
 * them out of the memfd, and which samples were bad.
 */
import { printable, SampleError } from '../../basics/errors.js'
import type { SlotLayout } from '../../batch/layout.js'
import { Notes } from '../../spans/notes.js'
import type { BadReport, Job } from '../plan/job.js'
import { type ToldDefinition, toldDefinition } from './told-definition.js'

/** Of a definition, as JSON: a longer one is told without its long lists, or not at all. */
const MOST_DEFINITION = 48 * 1024
/** Lists of the definition that are longer than this are cut, where it is too long. */
const LONG_LIST = 50
/** Bad samples of a ring that are kept, the last ones, and characters of what is said of one. */
const MOST_BAD = 200
const MOST_MESSAGE = 600

/** What is told of a ring when it is opened. */
export interface RingNote {
  kind: 'ring'
  ring: number
  feed: string
  rank: number
  world: number
  /** Folder against which paths of the definition are resolved. */
  root: string
  /** Descriptors of the engine's: of header and columns, and of the fields. Both may be the same. */
  memory: { words: number; data: number }
  capacity: number
  layout: SlotLayout
  /** Null: it is too long. `cut`: without its long lists. */
  definition: ToldDefinition | null
  cut: boolean
}

/** What is told of a bad sample. */
export interface BadNote {
  kind: 'bad'
  ring: number
  /** How many there are with this one, each counted once. */
  count: number
  id: string
  message: string
  file?: string
  offset?: number
}

/** Names of all bad samples, by ring: the budget of `onError` bounds them. */
const reported = new Map<number, Set<string>>()

/** `memory`: the regions of the ring (engine/ring/ring-memory.ts). */
export function noteRing(
  { id, layout, capacity, feed, share }: Job,
  memory: Readonly<Record<'words' | 'data', { fd: number }>>,
  name: string,
): void {
  const notes = Notes.shared()
  if (notes === undefined) return
  const whole = toldDefinition(feed)
  const cut = sizeOf(whole) > MOST_DEFINITION
  const definition = cut ? shortened(whole) : whole
  const note: RingNote = {
    kind: 'ring',
    ring: id,
    feed: name,
    rank: share.rank,
    world: share.world,
    root: feed.root,
    memory: { words: memory.words.fd, data: memory.data.fd },
    capacity,
    layout,
    definition: sizeOf(definition) > MOST_DEFINITION ? null : definition,
    cut,
  }
  reported.set(id, new Set())
  notes.write({ ...note }, `ring ${id}`)
}

/** Notes a bad sample, and gives the report back. */
export function noteBad(report: BadReport): BadReport {
  const { ring, where, problem, row } = report
  const names = reported.get(ring)
  if (names === undefined || row < 0 || names.has(where.id)) return report
  names.add(where.id)
  const { message } = new SampleError(where, problem)
  const { file, offset } = where
  const note: BadNote = {
    kind: 'bad',
    ring,
    count: names.size,
    id: printable(where.id),
    message: message.slice(0, MOST_MESSAGE),
    ...(file !== undefined && { file }),
    ...(offset !== undefined && { offset }),
  }
  Notes.shared()?.write({ ...note }, badKey(ring, names.size % MOST_BAD))
  return report
}

/** The ring is closed: what was told of it need not be kept. */
export function forgetRing(ring: number): void {
  const notes = Notes.shared()
  notes?.forget(`ring ${ring}`)
  for (let i = 0; i < MOST_BAD; i++) notes?.forget(badKey(ring, i))
  reported.delete(ring)
}

function badKey(ring: number, number: number): string {
  return `bad ${ring} ${number}`
}

function sizeOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** The same with long lists cut. */
function shortened(definition: ToldDefinition): ToldDefinition {
  return JSON.parse(
    JSON.stringify(definition, (_, value) =>
      Array.isArray(value) && value.length > LONG_LIST
        ? [...value.slice(0, LONG_LIST), `… ${value.length - LONG_LIST} more`]
        : value,
    ),
  )
}

/** What makers said of bad samples, kept until their batch is delivered. */
export class BadReports {
  private reports: BadReport[] = []

  add(report: BadReport): void {
    this.reports.push(noteBad(report))
  }

  /** Those of a batch, by row; those of batches before it are forgotten. */
  take(batch: number, generation: number): BadReport[] {
    const present = this.reports.filter(report => report.generation === generation)
    this.reports = present.filter(report => report.batch > batch)
    // A row that was made twice (its first maker died) is reported once.
    const rows = new Map(present.filter(report => report.batch === batch).map(report => [report.row, report]))
    return [...rows.values()].sort((a, b) => a.row - b.row)
  }
}
