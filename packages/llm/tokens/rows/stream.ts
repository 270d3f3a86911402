/** All tokens of a source as one stream: files one after the other, or runs of those of their documents that were chosen. */
import { lastAtMost } from '../../../core/basics/search.js'
import type { Stretches } from '../token-rows.js'

/** Runs of tokens that stand side by side in a file. Plain data; large tables are shared memory. */
export interface StreamRuns {
  /** First token of each run in the stream, and the number of all tokens. */
  starts: Float64Array
  /** The file of each run, and its first token there. */
  files: Uint32Array
  offsets: Float64Array
}

/** Runs in shared memory; empty ones are left out. */
export function streamOf(runs: Iterable<{ file: number; offset: number; tokens: number }>): StreamRuns {
  const starts: number[] = [0]
  const files: number[] = []
  const offsets: number[] = []
  for (const { file, offset, tokens } of runs) {
    if (tokens === 0) continue
    const last = files.length - 1
    const goesOn =
      last >= 0 && files[last] === file && offsets[last] + starts[last + 1] - starts[last] === offset
    if (goesOn) starts[last + 1] += tokens
    else {
      files.push(file)
      offsets.push(offset)
      starts.push(starts[last + 1] + tokens)
    }
  }
  return {
    starts: shared(Float64Array, starts),
    files: shared(Uint32Array, files),
    offsets: shared(Float64Array, offsets),
  }
}

function shared<T extends Float64Array | Uint32Array>(
  Type: { new (buffer: SharedArrayBuffer): T; readonly BYTES_PER_ELEMENT: number },
  numbers: readonly number[],
): T {
  const array = new Type(new SharedArrayBuffer(numbers.length * Type.BYTES_PER_ELEMENT))
  array.set(numbers)
  return array
}

export class Stream {
  /** All tokens. */
  readonly tokens: number

  constructor(readonly runs: StreamRuns) {
    this.tokens = runs.starts[runs.files.length]
  }

  /** Adds the stretches that hold tokens `from` to `to` − 1, of which the first goes to `place`; `joined`: to what was added before. */
  stretches(from: number, to: number, place: number, out: Stretches, joined = false): void {
    const { starts, files, offsets } = this.runs
    let run = this.runOf(from)
    for (let at = from; at < to; run++) {
      const end = Math.min(to, starts[run + 1])
      out.add(files[run], offsets[run] + at - starts[run], end - at, place + at - from, joined || at > from)
      at = end
    }
  }

  /** Where a token lies. */
  locate(token: number): { file: number; offset: number } {
    const { starts, files, offsets } = this.runs
    const run = this.runOf(token)
    return { file: files[run], offset: offsets[run] + token - starts[run] }
  }

  private runOf(token: number): number {
    return lastAtMost(this.runs.starts, token, 0, this.runs.files.length - 1)
  }
}
