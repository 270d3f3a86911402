/** Writing past the page cache: what was written so is read from the disk. */
import { constants, openSync, rmSync } from 'node:fs'
import { addressOf } from '../native.js'

/** Addresses, offsets and lengths are multiples of this. */
const ALIGNED = 4096

/** Makes a file and opens it for writing; through the page cache where the file system knows no other way. */
export function createDirect(path: string): number {
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY
  try {
    return openSync(path, flags | (constants.O_DIRECT ?? 0), 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
    rmSync(path, { force: true })
    return openSync(path, flags, 0o600)
  }
}

/** Memory that can be written so. */
export function alignedBytes(bytes: number): Uint8Array {
  const buffer = new ArrayBuffer(bytes + ALIGNED)
  const skip = Number(-addressOf(buffer) & BigInt(ALIGNED - 1))
  return new Uint8Array(buffer, skip, bytes)
}
