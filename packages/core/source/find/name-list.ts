/** The names in one folder, as bytes: a folder of ten million files is one blob and two arrays while it is sorted. */

export class NameList {
  length = 0
  private blob = Buffer.allocUnsafeSlow(4096)
  private ends = new Uint32Array(64)
  private used = 0
  private order: Uint32Array | undefined

  add(name: string): void {
    const most = name.length * 3 // bytes of UTF-8 a UTF-16 unit takes at most
    if (this.used + most > this.blob.length) this.growBlob(most)
    if (this.length + 1 >= this.ends.length) this.growEnds()
    this.used += this.blob.write(name, this.used)
    this.ends[++this.length] = this.used
  }

  /** Sorts byte by byte, which for UTF-8 is by code point: the same in every locale. */
  sort(): void {
    const { blob, ends } = this
    const compare = (a: number, b: number): number => {
      let i = ends[a]
      let j = ends[b]
      const endA = ends[a + 1]
      const endB = ends[b + 1]
      while (i < endA && j < endB) {
        const difference = blob[i++] - blob[j++]
        if (difference !== 0) return difference
      }
      return endA - i - (endB - j)
    }
    this.order = new Uint32Array(this.length).map((_, i) => i).sort(compare)
  }

  at(i: number): string {
    const n = this.order === undefined ? i : this.order[i]
    return this.blob.toString('utf8', this.ends[n], this.ends[n + 1])
  }

  private growBlob(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.blob.length, this.used + bytes))
    this.blob.copy(larger, 0, 0, this.used)
    this.blob = larger
  }

  private growEnds(): void {
    const larger = new Uint32Array(2 * this.ends.length)
    larger.set(this.ends)
    this.ends = larger
  }
}
