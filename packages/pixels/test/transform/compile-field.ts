import { decoderOf } from '../../../core/define/kind.js'
import { BY_WORKER } from '../../../core/define/making.js'
import type { NormalField } from '../../../core/define/types.js'
import type { FieldProgram, InSlot, UserMap } from '../../../core/engine/make/program.js'

/** The program of a field. By default the worker finishes it, as the definition lays it out. */
export function compileField(
  field: NormalField,
  map?: UserMap,
  slot: InSlot = { layout: field.layout, making: BY_WORKER },
): FieldProgram {
  return decoderOf(field).compile(field, slot, map)
}
