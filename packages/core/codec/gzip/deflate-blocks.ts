/**
 * Decompresses deflate (RFC 1951) block by block, where zlib's own functions can't be reached (zlib-blocks.ts): it takes three
 * times as long as they do.
 */
import { DecodeError } from '../../basics/errors.js'
import { BlockOutput, cutOff, damaged, FULL, WINDOW } from './block-output.js'

const END_OF_BLOCK = 256

const LENGTHS = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
  227, 258,
]
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0]
const DISTANCES = [
  1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
  6145, 8193, 12289, 16385, 24577,
]
const DISTANCE_BITS = [
  0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
]
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

/** A code: by the next `bits` bits, the symbol × 16 + its length; 0 where no symbol begins so. */
interface Code {
  bits: number
  table: Uint16Array
}

const FIXED: { symbols: Code; distances: Code } = {
  symbols: codeOf(
    Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)),
    0,
    288,
  ),
  distances: codeOf(new Uint8Array(30).fill(5), 0, 30),
}

export class DeflateBlocks extends BlockOutput {
  /** The input, the next byte of it that is not held, and the bits that are. */
  private input: Uint8Array = new Uint8Array(0)
  private at = 0
  private hold = 0
  private held = 0

  /** Decompresses the block that begins at a bit of `input`; gives the bit behind it. All of it must be there. */
  override block(input: Uint8Array, bit: number): number {
    this.input = input
    this.at = bit >>> 3
    this.hold = 0
    this.held = 0
    this.take(bit & 7)
    this.ended = this.take(1) === 1
    const type = this.take(2)
    if (type === 0) this.stored()
    else if (type === 1) this.coded(FIXED.symbols, FIXED.distances)
    else if (type === 2) this.dynamic()
    else throw new DecodeError('there is no such kind of deflate block')
    const end = 8 * this.at - this.held
    if (end > 8 * input.length) throw cutOff()
    return end
  }

  private take(count: number): number {
    while (this.held < count) {
      if (this.at >= this.input.length) throw cutOff()
      this.hold |= this.input[this.at++] << this.held
      this.held += 8
    }
    const value = this.hold & ((1 << count) - 1)
    this.hold >>>= count
    this.held -= count
    return value
  }

  private stored(): void {
    this.at -= this.held >> 3
    this.hold = 0
    this.held = 0
    const length = this.take(8) | (this.take(8) << 8)
    const check = this.take(8) | (this.take(8) << 8)
    if ((length ^ check) !== 0xffff) throw new DecodeError('the length of a stored block is damaged')
    if (this.at + length > this.input.length) throw cutOff()
    if (this.to + length > FULL) this.slide()
    this.out.set(this.input.subarray(this.at, this.at + length), this.to)
    this.to += length
    this.at += length
    this.made += length
  }

  private dynamic(): void {
    const symbols = this.take(5) + 257
    const distances = this.take(5) + 1
    const count = this.take(4) + 4
    const lengths = new Uint8Array(19)
    for (let i = 0; i < count; i++) lengths[ORDER[i]] = this.take(3)
    const code = codeOf(lengths, 0, 19)
    const all = new Uint8Array(symbols + distances)
    for (let i = 0; i < all.length; ) {
      const symbol = this.symbol(code)
      if (symbol < 16) {
        all[i++] = symbol
        continue
      }
      if (symbol === 16 && i === 0) throw damaged()
      const value = symbol === 16 ? all[i - 1] : 0
      const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7)
      if (i + times > all.length) throw damaged()
      all.fill(value, i, i + times)
      i += times
    }
    if (all[END_OF_BLOCK] === 0) throw damaged()
    this.coded(codeOf(all, 0, symbols), codeOf(all, symbols, distances))
  }

  private symbol({ bits, table }: Code): number {
    while (this.held < bits && this.at < this.input.length) {
      this.hold |= this.input[this.at++] << this.held
      this.held += 8
    }
    const entry = table[this.hold & ((1 << bits) - 1)]
    const length = entry & 15
    if (length === 0) throw damaged()
    if (length > this.held) throw cutOff()
    this.hold >>>= length
    this.held -= length
    return entry >> 4
  }

  /** The symbols of a block. Its state is held in variables: this is where all the time goes. */
  private coded(symbols: Code, distances: Code): void {
    const { input, out } = this
    const [table, mask] = [symbols.table, (1 << symbols.bits) - 1]
    const [farTable, farMask] = [distances.table, (1 << distances.bits) - 1]
    let { at, hold, held, to } = this
    const before = to
    let slid = 0
    for (;;) {
      if (to >= FULL) {
        if (at > input.length + 8) throw cutOff()
        this.to = to
        this.slide()
        slid += to - WINDOW
        to = WINDOW
      }
      // 24 bits at least: a symbol and its extra bits. Past the end come zeros, and the caller finds out.
      while (held < 24) {
        hold |= input[at++] << held
        held += 8
      }
      const entry = table[hold & mask]
      const length = entry & 15
      if (length === 0) throw damaged()
      hold >>>= length
      held -= length
      const symbol = entry >> 4
      if (symbol < END_OF_BLOCK) {
        out[to++] = symbol
        continue
      }
      if (symbol === END_OF_BLOCK) break
      if (symbol > 285 || at > input.length + 8) throw at > input.length ? cutOff() : damaged()
      const extra = LENGTH_BITS[symbol - 257]
      const run = LENGTHS[symbol - 257] + (hold & ((1 << extra) - 1))
      hold >>>= extra
      held -= extra
      while (held < 24) {
        hold |= input[at++] << held
        held += 8
      }
      const far = farTable[hold & farMask]
      const farLength = far & 15
      if (farLength === 0 || far >> 4 > 29) throw damaged()
      hold >>>= farLength
      held -= farLength
      const farExtra = DISTANCE_BITS[far >> 4]
      while (held < farExtra) {
        hold |= input[at++] << held
        held += 8
      }
      const distance = DISTANCES[far >> 4] + (hold & ((1 << farExtra) - 1))
      hold >>>= farExtra
      held -= farExtra
      let source = to - distance
      if (source < this.least) throw new DecodeError('a match reaches back before the beginning')
      for (const end = to + run; to < end; ) out[to++] = out[source++]
    }
    this.made += slid + to - before
    Object.assign(this, { at, hold, held, to })
  }
}

/** The code whose symbols have these lengths (0: none). */
function codeOf(lengths: Uint8Array, from: number, count: number): Code {
  const counts = new Uint16Array(16)
  for (let i = 0; i < count; i++) counts[lengths[from + i]]++
  counts[0] = 0
  let bits = 15
  while (bits > 1 && counts[bits] === 0) bits--
  const next = new Uint16Array(17)
  let left = 1
  for (let length = 1; length <= 15; length++) {
    left = 2 * left - counts[length]
    if (left < 0) throw damaged()
    next[length + 1] = (next[length] + counts[length]) << 1
  }
  const table = new Uint16Array(1 << bits)
  for (let symbol = 0; symbol < count; symbol++) {
    const length = lengths[from + symbol]
    if (length === 0) continue
    let code = next[length]++
    let reversed = 0
    for (let i = 0; i < length; i++, code >>= 1) reversed = (reversed << 1) | (code & 1)
    const entry = (symbol << 4) | length
    for (let i = reversed; i < table.length; i += 1 << length) table[i] = entry
  }
  return { bits, table }
}
