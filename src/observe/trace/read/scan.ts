/**
 * Finds the events in the text of a trace, piece by piece, whatever frame is around them: an array, an array without commas
 * (DFTracer 1), lines (DFTracer 2), or an object with `traceEvents` (torch.profiler). The text may end anywhere.
 */

/** An event larger than this (bytes) is passed over. */
const LARGEST = 16 << 20

const [QUOTE, BACKSLASH, OPEN, CLOSE, OPEN_ARRAY, CLOSE_ARRAY] = [...'"\\{}[]'].map(c => c.charCodeAt(0))
const COMMA = ','.charCodeAt(0)
const KEY = Buffer.from('"traceEvents"')
/** torch.profiler's: ns since 1970 at which the times of its events begin. */
const BASE = Buffer.from('"baseTimeNanoseconds"')

export class EventScanner {
  /** Events that are no JSON, or too large. */
  bad = 0
  /** Whether the frame was closed; of lines, whether the last one was whole. */
  ended = false
  /** Where times begin (ms since 1970), if the frame says so. */
  baseMs: number | undefined
  private base: string | undefined
  private frame: 'array' | 'lines' | 'object' | undefined
  private depth = 0
  private text = false
  private escaped = false
  /** Whether the last text at depth 1 of an object was the key. */
  private key = false
  private rest = Buffer.alloc(0)
  /** Where in the current piece the event, or the text, began; −1: not in one. */
  private from = -1
  private textFrom = -1

  constructor(private readonly event: (value: unknown) => void) {}

  /** The depth at which events begin. Lines are what an object is taken for until the key is found. */
  private get level(): number {
    return this.frame === 'array' ? 1 : this.frame === 'object' ? 2 : 0
  }

  add(piece: Uint8Array): void {
    const at = this.rest.length
    const data =
      at === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.length) : Buffer.concat([this.rest, piece])
    for (let i = at; i < data.length; i++) this.step(data, i)
    // What is not done with is kept: an event that began here.
    const keep = this.from >= 0 ? this.from : this.textFrom >= 0 ? this.textFrom : data.length
    this.rest = Buffer.from(data.subarray(keep))
    if (this.from >= 0) this.from = 0
    if (this.textFrom >= 0) this.textFrom -= keep
    if (this.rest.length > LARGEST) this.drop()
  }

  private step(data: Buffer, i: number): void {
    const c = data[i]
    if (this.text) {
      if (this.escaped) this.escaped = false
      else if (c === BACKSLASH) this.escaped = true
      else if (c === QUOTE) this.closeText(data, i)
      return
    }
    if (c === QUOTE) {
      this.text = true
      this.textFrom = this.depth === 1 && this.frame !== 'array' ? i : -1
    } else if (c === OPEN || c === OPEN_ARRAY) this.open(c, i)
    else if (c === CLOSE || c === CLOSE_ARRAY) this.close(data, i)
    else if (this.base !== undefined) this.digit(c)
  }

  private digit(c: number): void {
    if (c === COMMA) this.closeBase()
    else this.base += String.fromCharCode(c)
  }

  private closeBase(): void {
    const ns = /^\s*:\s*(\d{1,20})\s*$/.exec(this.base ?? '')?.[1]
    if (ns !== undefined) this.baseMs = Number(ns) / 1e6
    this.base = undefined
  }

  private closeText(data: Buffer, i: number): void {
    this.text = false
    if (this.textFrom >= 0) {
      const text = data.subarray(this.textFrom, i + 1)
      this.key = text.equals(KEY)
      this.base = text.equals(BASE) ? '' : undefined
    }
    this.textFrom = -1
  }

  private open(c: number, i: number): void {
    this.base = undefined
    if (this.frame === undefined) this.frame = c === OPEN_ARRAY ? 'array' : 'lines'
    else if (c === OPEN_ARRAY && this.depth === 1 && this.key && this.frame === 'lines') {
      this.frame = 'object'
      this.from = -1
    }
    if (c === OPEN && this.depth === this.level && this.from < 0) this.from = i
    if (this.depth === 0) this.ended = false
    this.depth++
  }

  private close(data: Buffer, i: number): void {
    if (this.base !== undefined) this.closeBase()
    this.depth = Math.max(0, this.depth - 1)
    if (this.depth === 0) this.ended = true
    if (this.depth === 1 && this.frame === 'object' && data[i] === CLOSE_ARRAY) this.frame = 'lines' // what follows is no event
    if (this.from < 0 || this.depth !== this.level) return
    const text = data.toString('utf8', this.from, i + 1)
    this.from = -1
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      this.bad++
      return
    }
    this.event(value)
  }

  private drop(): void {
    this.bad++
    this.from = -1
    this.textFrom = -1
    this.rest = Buffer.alloc(0)
  }
}
