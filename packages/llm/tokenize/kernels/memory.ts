/**
 * The memory of a kernel, and how texts go through it:
 *
 *   tables of the vocabulary │ tables of words │ queue of long words │ where it works │ a window of the text │ its tokens
 */
import type { CompiledVocabulary } from '../vocabulary/compile.js'
import { Kernel } from './load.js'

/** Bytes of text that are encoded at a time; more where a word is longer. */
const WINDOW = 256 << 10
/** Bytes to work in for each byte of a word. */
const SCRATCH = 64
/** Bytes that a kernel may read or write over the end of what it is given. */
const SLACK = 64

export class KernelMemory {
  private readonly kernel: Kernel
  private readonly pattern: number
  private readonly scratch: number
  private window = 0
  private text = 0
  private tokens = 0
  private bytes: Uint8Array

  constructor({ tables, memory, pattern, ranks }: CompiledVocabulary) {
    this.pattern = pattern
    this.kernel = new Kernel(tables.end)
    this.bytes = this.kernel.bytes()
    this.bytes.set(memory)
    const { code } = this.kernel
    this.kernel.grow(tables.end + (4 << 20) + code.queueBytes(ranks))
    const queue = this.kernel.useWordTables(tables.end)
    code.useQueue(queue, ranks)
    this.scratch = (queue + code.queueBytes(ranks) + SLACK) & ~63
    this.kernel.use(tables, this.scratch)
    this.reserve(WINDOW)
  }

  /** Writes the tokens of a text into `out`, from `at` on; gives the place behind them. */
  encode(text: Uint8Array, out: Uint32Array, at: number): number {
    const { code } = this.kernel
    let end = at
    for (let done = 0; done < text.length; ) {
      const length = Math.min(this.window, text.length - done)
      const last = done + length === text.length
      this.bytes.set(length === text.length ? text : text.subarray(done, done + length), this.text)
      const count = code.encode(this.pattern, this.text, length, this.tokens, last ? 1 : 0)
      if (end + count > out.length)
        throw new RangeError(
          `there is room for ${out.length - end} tokens more, and the text has ${count} at least`,
        )
      out.set(new Uint32Array(this.bytes.buffer, this.tokens, count), end)
      end += count
      const consumed = code.consumed()
      done += consumed
      // A word is longer than what was looked at.
      if (consumed === 0) this.reserve(2 * this.window)
    }
    return end
  }

  /** Where each word of a text ends. */
  borders(text: Uint8Array): Uint32Array {
    this.reserve(text.length)
    this.bytes.set(text, this.text)
    const count = this.kernel.code.borders(this.pattern, this.text, text.length, this.tokens)
    return new Uint32Array(this.bytes.buffer, this.tokens, count).slice()
  }

  private reserve(window: number): void {
    if (window <= this.window) return
    this.window = window
    this.text = (this.scratch + SCRATCH * window + 2 * SLACK) & ~63
    this.tokens = (this.text + window + 2 * SLACK) & ~63
    this.kernel.grow(this.tokens + 4 * window + SLACK)
    this.bytes = this.kernel.bytes()
  }
}
