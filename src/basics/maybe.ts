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

/** What `work` gives, or what `rescue` makes of its error, thrown or rejected. */
export function attempt<T, U>(work: () => Maybe<T>, rescue: (error: Error) => Maybe<U>): Maybe<T | U> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(rescue) : value
  } catch (error) {
    return rescue(error as Error)
  }
}
