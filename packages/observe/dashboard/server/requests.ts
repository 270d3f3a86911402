/** What may be asked of the server: what it shows. */
import type { Gallery, Snapshot as Saved, Timeline } from '../view.js'

/** What a page is told first: `GET /api/snapshot` adds the timeline and the gallery. */
export type Snapshot = Omit<Saved, 'timeline' | 'gallery'>

/** The runs that can be looked at. */
export interface Shown {
  /** One of them, as TRAINER.RING or ENGINE:RING; null: the one that the dashboard chose. One that is not here has nothing to show. */
  of(run: string | null): View
}

/** A run that is looked at. Methods that throw a MillraceError are answered with its message. */
export interface View {
  snapshot(): Snapshot
  timeline(seconds: number): Timeline
  gallery(rows: number): Promise<Gallery>
  /** The bytes of a bad sample's picture, and their type. */
  bad(rank: number, number: number): { type: string; bytes: Uint8Array } | undefined
}
