/** Sorts by small whole numbers, in linear time: a window of an epoch is sorted wherever a batch of it is made. */

/** A turn sorts by so many bits: its counts stay in the nearest cache. */
const BITS = 11
const DIGITS = 1 << BITS
const counts = new Uint32Array(DIGITS)

/** Memory for sorting, kept from one window to the next. */
export class Sorter {
  private from = new Uint32Array(0)
  private to = new Uint32Array(0)

  /** The places 0 … n−1 of some keys in the order of the keys; equal keys keep their order. A view: good until the next call. */
  sort(keys: Uint32Array): Uint32Array {
    const n = keys.length
    if (this.from.length < n) {
      this.from = new Uint32Array(n)
      this.to = new Uint32Array(n)
    }
    let { from, to } = this
    let most = 0
    for (let i = 0; i < n; i++) {
      from[i] = i
      if (keys[i] > most) most = keys[i]
    }
    for (let shift = 0; shift < 32 && most >>> shift > 0; shift += BITS) {
      counts.fill(0)
      for (let i = 0; i < n; i++) counts[(keys[i] >>> shift) & (DIGITS - 1)]++
      let next = 0
      for (let digit = 0; digit < DIGITS; digit++) {
        const count = counts[digit]
        counts[digit] = next
        next += count
      }
      for (let i = 0; i < n; i++) {
        const item = from[i]
        to[counts[(keys[item] >>> shift) & (DIGITS - 1)]++] = item
      }
      ;[from, to] = [to, from]
    }
    return from.subarray(0, n)
  }
}
