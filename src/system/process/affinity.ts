/**
 * The cores that the calling thread may run on. On Linux a worker thread can be bound on its own; elsewhere nobody
 * can, and `bind` returns the reason instead of doing anything.
 */
import { koffi, libc } from '../native.js'

const MASK_BYTES = 1024 // room for 8,192 cores, the most that Linux supports

type Affinity = (thread: number, bytes: number, mask: Uint8Array) => number

const linux = process.platform === 'linux'
const set = linux ? find('sched_setaffinity') : undefined
const get = linux ? find('sched_getaffinity') : undefined

/** Binds the calling thread to these cores. Returns undefined when it is done, else the reason why it is not. */
export function bind(cores: readonly number[]): string | undefined {
  if (set === undefined) return `threads can't be bound to cores on ${process.platform}`
  const mask = new Uint8Array(MASK_BYTES)
  for (const core of cores) {
    if (!Number.isInteger(core) || core < 0 || core >= MASK_BYTES * 8)
      return `${core} is not the number of a core`
    mask[core >> 3] |= 1 << (core & 7)
  }
  if (set(0, MASK_BYTES, mask) === 0) return undefined
  return `the kernel refused to bind to ${cores.length === 0 ? 'no core' : `cores ${cores.join(', ')}`} (errno ${koffi.errno()})`
}

/** The cores that the calling thread may run on, ascending; undefined where nobody can tell. */
export function bound(): number[] | undefined {
  const mask = new Uint8Array(MASK_BYTES)
  if (get === undefined || get(0, MASK_BYTES, mask) < 0) return undefined
  const cores: number[] = []
  for (let core = 0; core < MASK_BYTES * 8; core++) if ((mask[core >> 3] >> (core & 7)) & 1) cores.push(core)
  return cores
}

function find(name: string): Affinity | undefined {
  try {
    return libc.func(`int ${name}(int thread, size_t bytes, _Inout_ uint8_t *mask)`) as unknown as Affinity
  } catch {
    return undefined
  }
}
