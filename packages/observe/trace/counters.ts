/** Figures over time, out of records: bytes read a second, and how many batches lie ready. */
import { TICKS_PER_MS, type TraceEvent } from './events.js'

/** Bytes are summed for so long (ticks, 100 ms). */
const BIN = 100 * TICKS_PER_MS
/** Batches ready are told at most this often (ticks, 0.1 ms). */
const WRITE_EVERY_TICKS = TICKS_PER_MS / 10

interface Ring {
  pid: number
  /** Rows of a batch, and batches that may lie ready. */
  rows: number
  depth: number
  /** Rows made and taken, when. */
  changes: { at: number; rows: number }[]
  made: number
  told: number
  value: number
}

export class TraceCounters {
  /** Bytes by process and bin. */
  private readonly bytes = new Map<number, Map<number, number>>()
  private readonly rings = new Map<string, Ring>()

  constructor(private readonly out: (event: TraceEvent) => void) {}

  read(pid: number, at: number, bytes: number): void {
    let bins = this.bytes.get(pid)
    if (bins === undefined) {
      bins = new Map()
      this.bytes.set(pid, bins)
    }
    const bin = Math.floor(at / BIN)
    bins.set(bin, (bins.get(bin) ?? 0) + bytes)
  }

  /** Rows were made, or taken (less than 0). */
  rows(key: string, ring: { pid: number; rows: number; depth: number }, at: number, rows: number): void {
    if (!(ring.rows > 0)) return
    let known = this.rings.get(key)
    if (known === undefined) {
      known = { ...ring, changes: [], made: 0, told: -WRITE_EVERY_TICKS, value: -1 }
      this.rings.set(key, known)
    }
    known.depth = ring.depth
    known.changes.push({ at, rows })
  }

  /** Tells what lies before `until`: later records may still come for what lies behind it. */
  settle(until: number): void {
    for (const [pid, bins] of this.bytes) this.settleBytes(pid, bins, until)
    for (const [key, ring] of this.rings) this.settleRows(key, ring, until)
  }

  private settleBytes(pid: number, bins: Map<number, number>, until: number): void {
    for (const bin of [...bins.keys()].sort((a, b) => a - b)) {
      if ((bin + 1) * BIN > until) break
      const rate = Math.round(((bins.get(bin) ?? 0) * TICKS_PER_MS * 1000) / BIN)
      this.out({ type: 'counter', pid, name: 'bytes read/s', at: bin * BIN, values: { bytes: rate } })
      bins.delete(bin)
      // A bin in which nothing was read has no record: the rate falls to 0 behind the last one.
      if (!bins.has(bin + 1) && (bin + 2) * BIN <= until)
        this.out({ type: 'counter', pid, name: 'bytes read/s', at: (bin + 1) * BIN, values: { bytes: 0 } })
    }
  }

  private settleRows(key: string, ring: Ring, until: number): void {
    ring.changes.sort((a, b) => a.at - b.at)
    let done = 0
    for (const { at, rows } of ring.changes) {
      if (at >= until) break
      done++
      // A recorder that comes late, or lost records, does not know how many there were: the limits lead it back.
      ring.made = Math.min(Math.max(0, ring.made + rows), ring.rows * Math.max(1, ring.depth))
      const value = Math.floor(ring.made / ring.rows)
      if (value === ring.value || at - ring.told < WRITE_EVERY_TICKS) continue
      ring.value = value
      ring.told = at
      const name = `batches ready (ring ${key.slice(key.indexOf('/') + 1)})`
      this.out({ type: 'counter', pid: ring.pid, name, at, values: { batches: value } })
    }
    ring.changes.splice(0, done)
  }
}
