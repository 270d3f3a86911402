/**
 * Operators choose steps: from the definition's parameters, the sample's size and a keyed random source, before
 * a pixel is decoded. Pure: the same key gives the same steps. Parameters mean what they mean in torchvision v2;
 * only the random source differs.
 */
import { MillraceError } from '../../core/basics/errors.js'
import type { Random } from '../../core/basics/random.js'
import type { NormalOp } from '../../core/define/types.js'
import type { RowContext } from '../../core/engine/make/program.js'
import type { Rows } from '../decode/array/rows.js'
import { decodeBoxes } from '../decode/array/rows.js'
import { followBoxes } from '../transform/plain/follow.js'
import type { CropStep } from './crop/step.js'
import type { PictureOperator, Scene } from './operator.js'
import { OPERATORS } from './registry.js'
import type { Size } from './step.js'
import { type Step, sizeAfter } from './steps.js'

/** An operator without the types of its own parameters: those of a NormalOp were parsed by the table that types them. */
const operators = OPERATORS as unknown as Readonly<Record<string, PictureOperator | undefined>>

const NO_BOXES: Rows = { count: 0, columns: 4, values: new Float64Array(0) }

export function mostSteps(ops: readonly NormalOp[]): number {
  return ops.reduce((sum, { name, params }) => {
    const most = operators[name]?.most ?? 1
    return sum + (typeof most === 'number' ? most : most(params as never))
  }, 0)
}

/** What else is known of a sample: its boxes, or the crop that was chosen when they were at hand. */
export interface Known {
  /** Uses the value of another field. */
  other?: RowContext['other'] | undefined
  /** Null: none was chosen. */
  recalled?: CropStep | null | undefined
}

/** What will be done to a sample of `size`. `random` gives each operator its own keyed source. */
export function chooseSteps(
  ops: readonly NormalOp[],
  size: Size,
  random: (op: NormalOp) => Random,
  { other, recalled }: Known = {},
): Step[] {
  const steps: Step[] = []
  let now = size
  const scene: Scene = {
    recalled,
    boxes: field => {
      if (other === undefined) throw new MillraceError(`the boxes of "${field}" are not known here`)
      // Where they lie before the first step; a sample that lacks them has none.
      const boxes = other(field, value => (value === undefined ? NO_BOXES : decodeBoxes(value)))
      return followBoxes(boxes, { ...size, steps }, 0)
    },
  }
  for (const op of ops) {
    const choose = operators[op.name]?.choose
    if (choose === undefined) throw new MillraceError(`"${op.name}" is not an operator of a single image`)
    for (const step of choose(op.params as never, now, random(op), scene) as Step[]) {
      steps.push(step)
      now = sizeAfter(step, now)
    }
  }
  return steps
}
