/** A set of key hashes that takes 16 bytes a key; a Set of ten million numbers would take some 400 MB. */
export class KeySet {
  private readonly slots: Float64Array

  /** For at most `count` different hashes. */
  constructor(count: number) {
    this.slots = new Float64Array(2 ** Math.ceil(Math.log2(2 * count + 2))).fill(-1)
  }

  has(hash: number): boolean {
    return this.slots[this.slotOf(hash)] === hash
  }

  /** Whether the hash is new here. */
  add(hash: number): boolean {
    const slot = this.slotOf(hash)
    if (this.slots[slot] === hash) return false
    this.slots[slot] = hash
    return true
  }

  private slotOf(hash: number): number {
    const { slots } = this
    let slot = hash % slots.length
    while (slots[slot] >= 0 && slots[slot] !== hash) slot = (slot + 1) % slots.length
    return slot
  }
}
