/** From a field of the definition to the program that makes it: one line a kind. */

import { isTiled, type TiledArray } from '../../core/basics/array.js'
import { DefinitionError } from '../../core/basics/errors.js'
import { checkLimit, limitOf } from '../../core/define/limits.js'
import { BY_WORKER, type FieldMaking, type SlotField } from '../../core/define/making.js'
import type { Tokenizer } from '../../core/define/tokenizer.js'
import type { NormalField } from '../../core/define/types.js'
import { compileDeviceArray } from './device/array.js'
import { compileDevicePicture } from './device/picture.js'
import type { FieldProgram, RowContext, UserMap } from './field.js'
import { compileImage, compileMask } from './picture/image.js'
import { compileArray, compileVaryingArray } from './plain/array-field.js'
import { compileBoxes, compilePoints } from './plain/follow.js'
import { compileNumber } from './plain/number-field.js'
import { landed } from './plain/put-array.js'
import { compileText } from './plain/text-field.js'
import { compileTokens } from './plain/token-field.js'
import { compileVector } from './plain/vector-field.js'
import { compileWindows } from './plain/windowed-array.js'

/** How a field lies in the slot, and who makes it. */
export interface InSlot {
  layout: SlotField
  making: FieldMaking
  /** Of a field of text that has one. */
  tokenizer?: Tokenizer
}

/** By default the worker finishes the field, as the definition lays it out. */
export function compileField(
  field: NormalField,
  map?: UserMap,
  slot: InSlot = { layout: field.layout, making: BY_WORKER },
): FieldProgram {
  return bounded(field, compileKind(field, map, slot))
}

function compileKind(field: NormalField, map: UserMap | undefined, slot: InSlot): FieldProgram {
  const { layout, making, tokenizer } = slot
  switch (field.as) {
    case 'image':
      return withoutMap(field, map, () =>
        making.by === 'device' && making.kind === 'picture'
          ? compileDevicePicture(field, layout, making)
          : compileImage(field, layout),
      )
    case 'mask':
      return withoutMap(field, map, compileMask)
    case 'boxes':
      return withoutMap(field, map, compileBoxes)
    case 'points':
      return withoutMap(field, map, compilePoints)
    case 'int':
    case 'float':
    case 'class':
      return compileNumber(field, map)
    case 'vector':
      return compileVector(field)
    case 'npy':
      if (making.by === 'device') return compileDeviceArray(field)
      if (layout.windows !== undefined) return compileWindows(field, layout.windows)
      return field.layout.form === 'dense' ? compileArray(field, map) : compileVaryingArray(field, map)
    case 'text':
    case 'json':
    case 'bytes':
      return tokenizer === undefined ? compileText(field, map) : compileTokens(field, tokenizer, map)
  }
}

/** The program, given no more than its field can take, and arrays with all of their bytes: only `npy` reads them itself. */
function bounded(field: NormalField, program: FieldProgram): FieldProgram {
  if (field.as === 'npy' || program.form === 'wide') return program
  const limit = limitOf(field)
  if (program.form === 'dense') {
    const { takes } = program
    return {
      form: 'dense',
      ...(takes && { takes }),
      run(value, at, context) {
        if (isTiled(value)) return withAll(value, context, all => program.run(all, at, context))
        if (limit !== undefined) checkLimit(limit, value)
        return program.run(value, at, context)
      },
    }
  }
  const { takes } = program
  return {
    form: 'varying',
    ...(takes && { takes }),
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
function withoutMap(
  field: NormalField,
  map: UserMap | undefined,
  compile: (field: NormalField) => FieldProgram,
): FieldProgram {
  if (map !== undefined) {
    throw new DefinitionError(
      `fields.${field.name}.map`,
      `a field as ${field.as} can't have a function of its own: use the feed's \`map\`, which gets the whole sample`,
    )
  }
  return compile(field)
}
