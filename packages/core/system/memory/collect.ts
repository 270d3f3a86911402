/**
 * Garbage collection on demand. V8 frees the addresses of a shared memory once every thread that has known it has
 * collected its garbage, and a thread with nothing to do never does.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Collects this thread's garbage: a few milliseconds. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc') // for contexts that are made from now on: this one
    collect = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collect()
}
