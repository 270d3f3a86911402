/**
 * Calls during which a thread must not be terminated. `koffi.view`, `koffi.load` and the declaring of functions call into V8, and
 * where the thread is being terminated at that moment, koffi ends the whole process (../native.ts). A thread enters such a call
 * through its termination guard, a word that is called its door here; the thread that ends it shuts the door first, and waits
 * until the call is over. A thread that starts is inside until it has loaded its modules, which declare functions.
 */

/** No call is made; a call is being made; the door is shut: the thread makes no more calls. */
const OPEN = 0
const INSIDE = 1
const SHUT = 2

/** Between two looks at a door that is in use (ms). */
const LOOK = 1

/** The door of this thread; the main thread has none, it is never terminated. */
let own: Int32Array | undefined

/** One for each thread. */
export function newTerminationGuard(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4)).fill(INSIDE)
}

/** This thread has loaded its modules. From now on, this is its door. */
export function useTerminationGuard(door: Int32Array): void {
  own = door
  if (Atomics.compareExchange(door, 0, INSIDE, OPEN) === SHUT) stay(door)
}

/** A thread has ended: nothing is to be waited for. */
export function leaveTerminationGuard(door: Int32Array): void {
  Atomics.store(door, 0, SHUT)
}

/** Makes a short call during which this thread is not terminated. */
export function unbroken<T>(call: () => T): T {
  const door = own
  // A call within a call: the outer one holds the door.
  if (door === undefined || Atomics.load(door, 0) === INSIDE) return call()
  if (Atomics.compareExchange(door, 0, OPEN, INSIDE) === SHUT) stay(door)
  try {
    return call()
  } finally {
    if (Atomics.compareExchange(door, 0, INSIDE, OPEN) === SHUT) stay(door)
  }
}

/** This thread is being ended: it does nothing more. */
function stay(door: Int32Array): never {
  for (;;) Atomics.wait(door, 0, SHUT)
}

/**
 * Shuts a thread's door, so that it can be terminated. False: it was inside for so many ms, blocked, and will do nothing
 * more once it comes out; to terminate it would be wrong.
 */
export async function closeTerminationGuard(door: Int32Array, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  while (Atomics.compareExchange(door, 0, OPEN, SHUT) === INSIDE) {
    if (performance.now() > end) return Atomics.exchange(door, 0, SHUT) !== INSIDE
    await new Promise(resolve => setTimeout(resolve, LOOK))
  }
  return true
}

/** The same where nothing asynchronous is left. */
export function closeTerminationGuardNow(door: Int32Array, ms: number): void {
  const end = performance.now() + ms
  while (Atomics.compareExchange(door, 0, OPEN, SHUT) === INSIDE && performance.now() < end)
    Atomics.wait(door, 0, INSIDE, LOOK)
}
