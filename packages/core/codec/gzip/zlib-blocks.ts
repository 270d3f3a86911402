/** Decompresses deflate block by block, by zlib. zlib holds the bits of a byte in which a block ends for the next one. */
import type { BlockInflate } from '../../system/codecs/zlib.js'
import { BlockOutput, cutOff, damaged, FULL } from './block-output.js'

export class ZlibBlocks extends BlockOutput {
  constructor(
    private readonly stream: BlockInflate,
    found: (piece: Uint8Array) => void,
  ) {
    super(found)
  }

  override begin(): void {
    super.begin()
    this.stream.reset()
  }

  override block(input: Uint8Array, bit: number): number {
    let at = Math.ceil(bit / 8)
    for (;;) {
      if (this.to === FULL) this.slide()
      const step = this.stream.step(input.subarray(at), this.out.subarray(this.to, FULL))
      if (step === undefined) throw damaged()
      at += step.read
      this.to += step.written
      this.made += step.written
      if (step.ended !== undefined) {
        this.ended = step.ended.last
        return 8 * at - step.ended.bits
      }
      if (step.read + step.written === 0) throw cutOff()
    }
  }

  override [Symbol.dispose](): void {
    this.stream[Symbol.dispose]()
  }
}
