/**
 * The order of Megatron's GPTDataset, number for number. Sequences are repeated for as many epochs as the samples need, and shuffled;
 * samples of L tokens are cut from what they make one behind the other; the samples are shuffled, too. All tables lie in shared memory.
 */

export interface GptWanted {
  /** Tokens of each sequence of this split. */
  lengths: ArrayLike<number>
  /** The sequences of this split: from … to − 1. */
  from: number
  to: number
  /** Samples that are wanted; undefined: one epoch. */
  samples?: number
  /** Tokens of a sample. */
  length: number
  seed: number
  /** Each sample takes one token more, which the next one begins with: the last target. */
  extra: boolean
  /** Validation with its last sample that is not full. */
  keepPartial?: boolean
}

export interface GptIndex {
  epochs: number
  /** Sequences in their order, through all epochs. */
  documents: Int32Array
  /** For each sample, and for the end: its place in `documents`, and its first token there. */
  places: Uint32Array
  offsets: Int32Array
  /** By position, the sample that stands there. */
  shuffle: Uint32Array
}

/** Of an epoch that is begun: below this share of its samples it is shuffled by itself. */
const SEPARATE_BELOW = 0.8

export function gptIndex(wanted: GptWanted): GptIndex {
  const { lengths, from, to, samples, length, seed } = wanted
  const extra = wanted.extra ? 1 : 0
  let tokens = 0
  for (let i = 0; i < to - from; i++) tokens += lengths[i]
  if (tokens === 0) throw new RangeError(`sequences ${from} to ${to - 1} have no token`)
  const epochs = samples === undefined ? 1 : epochsFor(samples * length + extra, tokens)
  const separate = isSeparate(samples, epochs, tokens, length, extra)

  const random = new RandomState(seed)
  const documents = new Int32Array(new SharedArrayBuffer(4 * epochs * (to - from)))
  for (let i = 0; i < documents.length; i++) documents[i] = from + (i % (to - from))
  const last = documents.length - (to - from)
  if (separate) {
    random.shuffle(documents, 0, last)
    random.shuffle(documents, last)
  } else random.shuffle(documents)

  const count = countOf(epochs * tokens - extra, length, wanted.keepPartial === true)
  const starts = startsOf(documents, from, lengths, count, length, extra)
  const shuffle = new Uint32Array(new SharedArrayBuffer(4 * count))
  for (let i = 0; i < count; i++) shuffle[i] = i
  if (separate) {
    const before = Math.floor(((epochs - 1) * tokens - extra) / length)
    random.shuffle(shuffle, 0, before)
    random.shuffle(shuffle, before)
  } else random.shuffle(shuffle)
  return { epochs, documents, ...starts, shuffle }
}

/** The least number of epochs that have so many tokens. */
function epochsFor(needed: number, tokens: number): number {
  let epochs = Math.max(1, Math.ceil(needed / tokens))
  // The quotient is rounded, the products are not.
  while (epochs > 1 && (epochs - 1) * tokens >= needed) epochs--
  while (epochs * tokens < needed) epochs++
  return epochs
}

function isSeparate(
  samples: number | undefined,
  epochs: number,
  tokens: number,
  length: number,
  extra: number,
): boolean {
  if (samples === undefined || epochs === 1) return false
  const before = Math.floor(((epochs - 1) * tokens - extra) / length)
  const each = Math.floor((tokens - extra) / length)
  return samples - before < Math.trunc(SEPARATE_BELOW * each)
}

/** Where the last sample may be a part, Megatron divides in 32-bit floats. */
function countOf(tokens: number, length: number, keepPartial: boolean): number {
  return keepPartial ? Math.ceil(Math.fround(Math.fround(tokens) / length)) : Math.floor(tokens / length)
}

/** Goes through the sequences, and notes where each sample begins. */
function startsOf(
  documents: Int32Array,
  from: number,
  lengths: ArrayLike<number>,
  count: number,
  length: number,
  extra: number,
): Pick<GptIndex, 'places' | 'offsets'> {
  const places = new Uint32Array(new SharedArrayBuffer(4 * (count + 1)))
  const offsets = new Int32Array(new SharedArrayBuffer(4 * (count + 1)))
  let document = 0
  let offset = 0
  for (let sample = 1; sample <= count; sample++) {
    let missing = length + extra
    while (missing > 0) {
      const left = lengths[documents[document] - from] - offset
      missing -= left
      if (missing <= 0) {
        // The next sample begins with the token that this one has more.
        offset += missing + left - extra
        missing = 0
      } else {
        if (document === documents.length - 1) {
          // What is left is no full sample.
          offset = lengths[documents[document] - from] - extra
          break
        }
        document++
        offset = 0
      }
    }
    places[sample] = document
    offsets[sample] = offset
  }
  return { places, offsets }
}

const SIZE = 624
const MIDDLE = 397

class RandomState {
  private readonly state = new Uint32Array(SIZE)
  private at = SIZE

  constructor(seed: number) {
    const { state } = this
    state[0] = seed >>> 0
    for (let i = 1; i < SIZE; i++)
      state[i] = (Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i) >>> 0
  }

  /** The next 32 random bits. */
  private next(): number {
    if (this.at === SIZE) this.refill()
    let bits = this.state[this.at++]
    bits ^= bits >>> 11
    bits ^= (bits << 7) & 0x9d2c5680
    bits ^= (bits << 15) & 0xefc60000
    return (bits ^ (bits >>> 18)) >>> 0
  }

  private refill(): void {
    const { state } = this
    for (let i = 0; i < SIZE - MIDDLE; i++) twist(state, i, i + 1, i + MIDDLE)
    for (let i = SIZE - MIDDLE; i < SIZE - 1; i++) twist(state, i, i + 1, i + MIDDLE - SIZE)
    twist(state, SIZE - 1, 0, MIDDLE - 1)
    this.at = 0
  }

  /** A random integer from 0 to `most`, which has 32 bits: those with more bits than it are thrown away. */
  private upTo(most: number): number {
    const mask = most === 0 ? 0 : 0xffffffff >>> Math.clz32(most)
    for (;;) {
      const value = (this.next() & mask) >>> 0
      if (value <= most) return value
    }
  }

  /** Shuffles numbers `from` to `to` − 1 of an array in place, as `RandomState.shuffle` does. */
  shuffle(numbers: Int32Array | Uint32Array | Float64Array, from = 0, to = numbers.length): void {
    for (let i = to - from - 1; i > 0; i--) {
      const j = this.upTo(i)
      const held = numbers[from + i]
      numbers[from + i] = numbers[from + j]
      numbers[from + j] = held
    }
  }
}

function twist(state: Uint32Array, i: number, next: number, other: number): void {
  const bits = (state[i] & 0x80000000) | (state[next] & 0x7fffffff)
  state[i] = state[other] ^ (bits >>> 1) ^ (bits & 1 ? 0x9908b0df : 0)
}
