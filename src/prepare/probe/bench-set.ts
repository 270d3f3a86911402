/**
 * Files to measure with, where a folder has none of a kind (`--write`): written past the page cache where the file system
 * can do that, so that they are cold, and taken away again.
 */
import { closeSync, mkdtempSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { alignedBytes, createDirect } from '../../system/files/direct.js'
import type { ProbeFile } from './task.js'

const LARGE = 256 << 20
const SMALL = 16 << 10
const SMALL_FILES = 256
const PIECE = 1 << 20

export class BenchSet {
  readonly folder: string
  readonly files: ProbeFile[] = []

  /** Writes one large file and many small ones below a folder. `remove` takes them away. */
  constructor(below: string) {
    this.folder = mkdtempSync(join(below, '.millrace-probe-'))
    try {
      const bytes = randomBytes()
      this.write('large', LARGE, bytes)
      for (let i = 0; i < SMALL_FILES; i++) this.write(`small-${i}`, SMALL, bytes)
    } catch (error) {
      this.remove()
      throw error
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  private write(name: string, bytes: number, from: Uint8Array): void {
    const path = join(this.folder, name)
    const fd = createDirect(path)
    try {
      for (let at = 0; at < bytes; at += PIECE) writeSync(fd, from, 0, Math.min(PIECE, bytes - at), at)
    } finally {
      closeSync(fd)
    }
    this.files.push({ path, bytes })
  }
}

/** Bytes that no file system can compress. */
function randomBytes(): Uint8Array {
  const bytes = alignedBytes(PIECE)
  for (let at = 0; at < PIECE; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536))
  return bytes
}
