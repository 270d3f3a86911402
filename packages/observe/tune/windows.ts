/**
 * Windows of evidence for the tuner, cheap enough to be taken every two seconds in the thread of a trainer: the steps come from
 * the records of its loop, what workers did from their counters. Records of workers are read only for single claims.
 */

import type { LaneInfo, SpanCursor, SpanReader } from '../../core/spans/reader.js'
import { collect, lookAtMakers, type MakersLook, makersBetween } from '../account/collect.js'
import type { RingSpans, SpanReading, SpanSource } from '../account/source.js'
import type { Evidence, Facts } from '../evidence.js'
import type { HostLook } from '../host/look.js'
import type { HostSampler } from '../host/sampler.js'

/** Marks are kept this long (ms): as long as a window may be. */
const KEPT = 90_000

/** How things stood at a moment. */
interface Mark {
  at: number
  host: HostLook
  makers: MakersLook
  /** Where each reader had come to. */
  cursors: Map<SpanReader, SpanCursor>
}

/** A reader, from a cursor on: of all lanes, or of consumers alone. */
class From implements SpanReading {
  constructor(
    private readonly reader: SpanReader,
    private readonly cursor: SpanCursor | undefined,
    private readonly full: boolean,
  ) {}

  readSince() {
    return this.reader.readSince(this.cursor, undefined, this.full ? undefined : isConsumer)
  }

  rings() {
    return this.reader.rings()
  }

  counters(ring?: number) {
    return this.reader.counters(ring)
  }
}

function isConsumer({ kind }: LaneInfo): boolean {
  return kind === 'consumer'
}

export class Windows {
  private marks: Mark[] = []

  constructor(private readonly host: HostSampler) {}

  /** Remembers how things stand now: windows begin at such moments. */
  mark(at: number, spans: readonly RingSpans[]): void {
    const readers = new Set(spans.flatMap(({ trainer, engine }) => [trainer.reader, engine.reader]))
    const cursors = new Map([...readers].map(reader => [reader, reader.end()]))
    const [first] = spans
    const makers = first === undefined ? { at, counters: [] } : lookAtMakers(first, at)
    this.marks.push({ at, host: this.host.look(), makers, cursors })
    while (this.marks.length > 2 && this.marks[1].at < at - KEPT) this.marks.shift()
  }

  /** What was seen of a ring from a moment on, until the latest mark. Undefined: there is no mark so early. */
  see(spans: RingSpans, from: number, full: boolean, facts: Partial<Facts>): Evidence | undefined {
    const now = this.marks.at(-1)
    const before = this.marks.findLast(({ at }) => at <= from + 1) ?? this.marks[0]
    if (now === undefined || before === undefined || now.at - before.at < 1) return undefined
    const host = this.host.between(before.host, now.host)
    const reading = ({ reader, ring }: RingSpans['engine']) => ({
      reader: new From(reader, before.cursors.get(reader), full),
      ring,
    })
    const trainer = reading(spans.trainer)
    const engine = spans.engine.reader === spans.trainer.reader ? trainer : reading(spans.engine)
    const source: SpanSource = { trainer, engine: { reader: engine.reader, ring: spans.engine.ring } }
    const evidence = collect(source, {
      from: before.at,
      to: now.at,
      host,
      facts: { cores: host.allowed, ...facts },
    })
    return { ...evidence, makers: makersBetween(spans.engine.ring, before.makers, now.makers) }
  }
}
