/** CPU time of the calling thread, and how long it waited for a core: Linux tells both in one small file. */
import { closeSync, openSync, readSync } from 'node:fs'

const FILE = '/proc/thread-self/schedstat'
const UNKNOWN: readonly [number, number] = [Number.NaN, Number.NaN]
const text = Buffer.alloc(64)

export class ThreadTimes {
  private cpu = Number.NaN
  private delay = Number.NaN
  private unknown = false

  /** ms of CPU time, and of waiting for a core, since it was last asked for. NaN where the system does not say. */
  since(): readonly [cpu: number, delay: number] {
    if (this.unknown) return UNKNOWN
    try {
      const [cpu, delay] = read().split(' ').map(Number)
      const times: [number, number] = [(cpu - this.cpu) / 1e6, (delay - this.delay) / 1e6]
      this.cpu = cpu
      this.delay = delay
      return times
    } catch {
      this.unknown = true
      return UNKNOWN
    }
  }
}

/** Opened each time: a descriptor that is kept would have to be closed with its thread. */
function read(): string {
  const fd = openSync(FILE, 'r')
  try {
    return text.toString('latin1', 0, readSync(fd, text, 0, text.length, 0))
  } finally {
    closeSync(fd)
  }
}
