/** What the programs of all kinds of fields have in common. */

import { isTiled, type TiledArray } from '../../core/basics/array.js'
import { DefinitionError } from '../../core/basics/errors.js'
import { landed } from '../../core/basics/plain-array.js'
import { checkLimit, limitOf } from '../../core/define/limits.js'
import type { NormalField } from '../../core/define/types.js'
import type {
  DenseProgram,
  FieldProgram,
  RowContext,
  UserMap,
  VaryingProgram,
} from '../../core/engine/make/program.js'

/** The program, given no more than its field can take, and arrays with all of their bytes. */
export function bounded(
  field: NormalField,
  program: DenseProgram | VaryingProgram,
  missing?: FieldProgram['missing'],
): FieldProgram {
  const limit = limitOf(field)
  const { takes } = program
  if (program.form === 'dense') {
    return {
      form: 'dense',
      takes,
      missing: missing as DenseProgram['missing'],
      run(value, at, context) {
        if (isTiled(value)) return withAll(value, context, all => program.run(all, at, context))
        if (limit !== undefined) checkLimit(limit, value)
        return program.run(value, at, context)
      },
    }
  }
  return {
    form: 'varying',
    takes,
    missing: missing as VaryingProgram['missing'],
    run(value, context) {
      if (isTiled(value)) return withAll(value, context, all => program.run(all, context))
      if (limit !== undefined) checkLimit(limit, value)
      return program.run(value, context)
    },
  }
}

function withAll<R>(
  array: TiledArray,
  { read }: RowContext,
  run: (array: TiledArray) => R | Promise<R>,
): R | Promise<R> {
  const all = landed(array, read)
  return all instanceof Promise ? all.then(run) : run(all)
}

/** Pictures, boxes and points are made by operators; a function of the user's works on the sample instead. */
export function refuseMap({ name, as }: NormalField, map: UserMap | undefined): void {
  if (map === undefined) return
  throw new DefinitionError(
    `fields.${name}.map`,
    `a field as ${as} can't have a function of its own: use the feed's \`map\`, which gets the whole sample`,
  )
}
