/** CPU time of the calling thread, and how long it waited for a core: Linux tells the latter in a small file. */
import { closeSync, openSync, readSync } from 'node:fs'
import { threadCpuMs } from '../system/process/thread-clock.js'

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
      const delay = Number(read().split(' ')[1]) / 1e6
      const cpu = threadCpuMs()
      const times: [number, number] = [cpu - this.cpu, delay - this.delay]
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
