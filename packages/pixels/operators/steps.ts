/** All steps that operators bring, by name: types, and the facts by which executors do them. */
import { MillraceError } from '../../core/basics/errors.js'
import type { NormalField } from '../../core/define/types.js'
import type { RowContext } from '../../core/engine/make/program.js'
import type { Workspace } from '../../core/system/memory/workspace.js'
import type { Picture } from '../decode/picture/picture.js'
import { OPERATORS } from './registry.js'
import type { Size, StepFacts } from './step.js'

type Brought = NonNullable<(typeof OPERATORS)[keyof typeof OPERATORS]['steps']>[number]
type StepOf<F> = F extends StepFacts<infer S> ? S : never
export type Step = StepOf<Brought>

/** What a field of pictures chose for a row, so that followers do the same. */
export interface Chosen extends Size {
  /** `width` and `height` are those of the decoded picture, before the first step. */
  steps: readonly Step[]
}

/** What the field that `field` follows chose for this row. */
export function chosenBy(field: NormalField, follow: string, { chosen }: RowContext): Chosen {
  const found = chosen.get(follow) as Chosen | undefined
  if (found !== undefined) return found
  throw new MillraceError(`field "${field.name}" is made before "${follow}", which it follows`)
}

/** The op that does what is gathered of crops, resizes and flips. */
export const PLACE = 1

const STEPS = Object.fromEntries(
  Object.values(OPERATORS)
    .flatMap(({ steps = [] }) => steps as readonly StepFacts<Step>[])
    .map(facts => [facts.do, facts]),
)

/** Codes of the ops of parameter rows. */
export const OP_CODES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.values(STEPS)
    .flatMap(({ do: name, code }): [string, number][] => (code === undefined ? [] : [[name, code]]))
    .concat([['place', PLACE]])
    .sort(([, a], [, b]) => a - b),
)

export function factsOf(step: Step): StepFacts<Step> {
  return STEPS[step.do]
}

/** Whether followers do it as well. */
export const moves = (step: Step): boolean => factsOf(step).motion !== undefined

/** The size of a sample once `step` is done. */
export function sizeAfter(step: Step, size: Size): Size {
  return factsOf(step).size?.(step, size) ?? size
}

/** Does one step on the CPU; the picture that comes back may be the same one, changed. */
export function applyStep(step: Step, picture: Picture, work: Workspace): Picture {
  return factsOf(step).run!(step, picture, work)
}
