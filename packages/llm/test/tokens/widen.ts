/** Tokens of a file as elements of a batch, plainly: what the kernel `tokens` must give. */

import type { TOKEN_CODES } from '../../tokens/kernels/load.js'

/** The greatest as an unsigned number, and the tokens as elements of `size` bytes. */
export function widenPlain(
  source: keyof typeof TOKEN_CODES,
  size: 4 | 8,
  bytes: Uint8Array,
  first: number,
  last: number,
): { greatest: number; elements: Uint8Array } {
  const from = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const elements = new Uint8Array(Math.max(0, last - first) * size)
  const to = new DataView(elements.buffer)
  let greatest = 0
  for (let i = first; i < last; i++) {
    const token =
      source === 'u16'
        ? from.getUint16(2 * i, true)
        : source === 'i32'
          ? from.getInt32(4 * i, true)
          : from.getUint32(4 * i, true)
    greatest = Math.max(greatest, token >>> 0)
    if (size === 8) to.setBigInt64(8 * (i - first), BigInt(token), true)
    else to.setInt32(4 * (i - first), token, true)
  }
  return { greatest, elements }
}
