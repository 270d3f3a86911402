/** Copies the elements of a chunk to their places in rows, or fills places whose chunk was never written. */

/** A chunk, and the array of rows that it is a part of. All in elements. */
export interface Box {
  /** Sides of the chunk, and of the array. */
  from: readonly number[]
  to: readonly number[]
  /** The first element of the chunk in the array. */
  at: readonly number[]
}

/**
 * Copies what of the chunk lies within the array. `from` undefined: `fill`, one element, stands for all of them.
 */
export function copyBox(
  { from: sides, to, at }: Box,
  from: Uint8Array | undefined,
  fill: Uint8Array | undefined,
  into: Uint8Array,
  elementBytes: number,
): void {
  const rank = to.length
  const counts = to.map((n, i) => Math.min(sides[i], n - at[i]))
  // Axes at the end that both have whole are gone through as one.
  let run = elementBytes
  let last = rank - 1
  while (last > 0 && counts[last] === to[last] && sides[last] === to[last]) run *= counts[last--]
  const steps = { from: new Array<number>(rank), to: new Array<number>(rank) }
  let [stepFrom, stepTo] = [run, run]
  for (let i = last; i >= 0; i--) {
    steps.from[i] = stepFrom
    steps.to[i] = stepTo
    stepFrom *= sides[i]
    stepTo *= to[i]
  }
  const bytes = run * (last >= 0 ? counts[last] : 1)
  const index = new Array<number>(rank).fill(0)
  let [a, b] = [0, 0]
  for (let i = 0; i <= last; i++) b += at[i] * steps.to[i]
  for (;;) {
    if (from !== undefined) copy(from, a, into, b, bytes)
    else spread(fill, into, b, bytes)
    let axis = last - 1
    for (; axis >= 0; axis--) {
      a += steps.from[axis]
      b += steps.to[axis]
      if (++index[axis] < counts[axis]) break
      a -= steps.from[axis] * counts[axis]
      b -= steps.to[axis] * counts[axis]
      index[axis] = 0
    }
    if (axis < 0) return
  }
}

/** A view costs more than a few bytes. */
const FEW = 32

function copy(from: Uint8Array, a: number, into: Uint8Array, b: number, bytes: number): void {
  if (bytes > FEW) into.set(from.subarray(a, a + bytes), b)
  else for (let i = 0; i < bytes; i++) into[b + i] = from[a + i]
}

/** Fills with one element, again and again. */
export function spread(element: Uint8Array | undefined, into: Uint8Array, at: number, bytes: number): void {
  if (element === undefined) {
    into.fill(0, at, at + bytes)
    return
  }
  into.set(element.subarray(0, Math.min(element.length, bytes)), at)
  for (let done = element.length; done < bytes; done *= 2)
    into.copyWithin(at + done, at, at + Math.min(done, bytes - done))
}
