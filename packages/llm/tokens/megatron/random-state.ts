/** NumPy's legacy generator, RandomState: MT19937, as far as Megatron shuffles with it. */

const SIZE = 624
const MIDDLE = 397

export class RandomState {
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
