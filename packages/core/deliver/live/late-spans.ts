/**
 * The spans of a trainer in another process. It begins to write them some time after its run is watched: until they are
 * found, nothing is in them; then all that was written for the ring is new, its first step as well.
 */
import type { SpanReading, SpansOf } from '../../../observe/account/source.js'
import type { SpanRead } from '../../spans/reader.js'

export class LateSpans implements SpansOf {
  ring = 0
  readonly reader: SpanReading = {
    readSince: (cursor, ring) => this.readSince(cursor, ring),
    rings: () => this.found?.rings() ?? [],
    counters: ring => this.found?.counters(ring) ?? [],
  }
  private found: SpanReading | undefined
  private read = false

  /** `find` is called by each `look`, until it has found them. */
  constructor(private readonly find: () => SpansOf | undefined) {}

  /** Looks for them. Returns whether they are there. */
  look(): boolean {
    if (this.found !== undefined) return true
    const found = this.find()
    if (found === undefined) return false
    this.found = found.reader
    this.ring = found.ring
    return true
  }

  private readSince(cursor: number[] | undefined, ring: number | undefined): SpanRead {
    if (this.found === undefined) return { records: [], cursor: [], lost: 0 }
    // The cursor of no spans is that of no lane: from there on, what other feeds had written over would count as lost.
    const from = this.read ? cursor : undefined
    this.read = true
    return this.found.readSince(from, ring)
  }
}
