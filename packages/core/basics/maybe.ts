/**
 * Work that is mostly done at once and sometimes has to be waited for. A promise for every row would cost more than the row,
 * so there is one only where something is waited for.
 */
export type Maybe<T> = T | Promise<T>

/** Goes on with a value: at once where it is there. */
export function after<T, U>(value: Maybe<T>, next: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All of them: at once where all are there. */
export function together<T>(values: readonly Maybe<T>[]): Maybe<T[]> {
  return values.some(value => value instanceof Promise) ? Promise.all(values) : (values as T[])
}

/**
 * Begins all of `works`, and gives what they give. After an error no more are begun, and it is told only when those that were
 * begun have ended: what they write to is theirs until then.
 */
export function togetherToTheEnd<T>(works: readonly (() => Maybe<T>)[]): Maybe<T[]> {
  const begun: Maybe<T>[] = []
  let failure: { error: unknown } | undefined
  try {
    for (const work of works) begun.push(work())
  } catch (error) {
    failure = { error }
  }
  if (!begun.some(value => value instanceof Promise)) {
    if (failure) throw failure.error
    return begun as T[]
  }
  return Promise.allSettled(begun).then(ends => {
    const rejected = ends.find(end => end.status === 'rejected')
    if (failure ?? rejected) throw failure ? failure.error : rejected!.reason
    return ends.map(end => (end as PromiseFulfilledResult<T>).value)
  })
}

/** What `work` gives, or what `rescue` makes of its error, thrown or rejected. */
export function attempt<T, U>(work: () => Maybe<T>, rescue: (error: Error) => Maybe<U>): Maybe<T | U> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(error => rescue(asError(error))) : value
  } catch (error) {
    return rescue(asError(error))
  }
}

/** What was thrown, as an error: code of the user's may throw anything. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
