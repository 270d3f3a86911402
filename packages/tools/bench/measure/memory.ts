/** The memory that this process takes: pages that it has, and shared memory that it has reserved without touching it yet. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

export interface Memory {
  peakBytes: number
  rssBytes: number
  /** Memory in memfds (rings, spans, workspaces), touched or not. */
  sharedBytes: number
}

export function memoryOfProcess(): Memory {
  const status = readText('/proc/self/status')
  const kib = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  const rssBytes = kib('VmHWM') || process.resourceUsage().maxRSS * 1024
  const sharedBytes = memfdBytes()
  return { peakBytes: rssBytes + Math.max(0, sharedBytes - kib('RssShmem')), rssBytes, sharedBytes }
}

/** Each memfd once, however many descriptors lead to it. */
function memfdBytes(): number {
  const found = new Map<number, number>()
  for (const fd of entries('/proc/self/fd')) {
    try {
      if (!readlinkSync(`/proc/self/fd/${fd}`).startsWith('/memfd:')) continue
      const { ino, blocks } = statSync(`/proc/self/fd/${fd}`)
      found.set(ino, 512 * blocks)
    } catch {
      // Closed meanwhile.
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0)
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // another system than Linux
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
