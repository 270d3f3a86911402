/** Work on many things, some at a time. */

/**
 * The results of `work` for all items, in their order, at most `most` at a time. After a failure nothing goes on in the
 * background: what has begun is waited for, then the first error is thrown.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T, i: number) => R | Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length)
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const i = next++
      results[i] = await work(items[i], i)
    }
  }
  const stopAll = (error: unknown): never => {
    next = items.length
    throw error
  }
  const workers = Array.from({ length: Math.min(most, items.length) }, () => worker().catch(stopAll))
  await Promise.allSettled(workers)
  await Promise.all(workers)
  return results
}
