/** Memory of a thread that is used again for every page: levels, codes, the decompressed page. */

/** What is larger is made for one page and given back. In bytes. */
const KEPT = 16 << 20

class Scratch {
  private memory = new ArrayBuffer(0)

  bytes(length: number): Uint8Array {
    return new Uint8Array(this.room(length), 0, length)
  }

  words(length: number): Uint32Array {
    return new Uint32Array(this.room(4 * length), 0, length)
  }

  private room(bytes: number): ArrayBuffer {
    if (bytes <= this.memory.byteLength) return this.memory
    const larger = new ArrayBuffer(Math.max(65536, 2 ** Math.ceil(Math.log2(bytes))))
    if (larger.byteLength <= KEPT) this.memory = larger
    return larger
  }
}

export const scratch = {
  page: new Scratch(),
  definitions: new Scratch(),
  repetitions: new Scratch(),
  codes: new Scratch(),
  values: new Scratch(),
  lengths: new Scratch(),
}
