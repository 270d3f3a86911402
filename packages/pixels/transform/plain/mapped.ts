/** A function of the user's on the value of one field. */
import type { NormalField, NormalOp } from '../../../core/define/types.js'
import type { RowContext, UserMap } from '../../../core/engine/make/program.js'

/** The random source of a field's own function is keyed like any operator's. */
const MAP: NormalOp = { name: 'map', ordinal: 0, params: {} }

/** Passes a decoded value through the user's function, where there is one, and on; at once unless that is asynchronous. */
export function mapped<T, R>(
  field: NormalField,
  map: UserMap | undefined,
  value: T,
  context: RowContext,
  then: (value: T) => R | Promise<R>,
): R | Promise<R> {
  if (map === undefined) return then(value)
  const result = map(value, context.random(field.name, MAP))
  return result instanceof Promise
    ? result.then(then as (value: unknown) => R | Promise<R>)
    : then(result as T)
}
