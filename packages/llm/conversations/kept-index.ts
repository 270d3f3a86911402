/** Reads the .idx of kept conversations, which this very program wrote. */
import { readFileSync } from 'node:fs'

export function readIndex(path: string): { lengths: Uint32Array; bytes: 2 | 4 } {
  const index = readFileSync(path)
  const count = Number(index.readBigUInt64LE(18))
  const lengths = new Uint32Array(count)
  for (let i = 0; i < count; i++) lengths[i] = index.readUInt32LE(34 + 4 * i)
  return { lengths, bytes: index[17] === 8 ? 2 : 4 }
}
