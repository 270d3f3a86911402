/** How much one loop covers: epochs, steps, or tokens. */
import { DefinitionError } from '../basics/errors.js'
import type { NormalFeed } from '../define/types.js'
import type { StepShare } from '../order/steps.js'

export interface LoopLimits {
  /** Undefined: one epoch, or as many as the steps need; null: without end. */
  epochs?: number | null
  steps?: number
}

/** What the options say for this feed. Loops over tokens go on through epochs: what ends them is steps, or tokens. */
export function loopLimits(
  { rowTokens }: NormalFeed,
  { epochs, steps, tokens }: LoopLimits & { tokens?: number },
  { world, batch }: StepShare,
): LoopLimits {
  if (tokens !== undefined && rowTokens === undefined)
    throw new DefinitionError('options.tokens', 'only a feed of tokens ends after tokens: give "steps"')
  const enough = tokens === undefined ? undefined : Math.ceil(tokens / (rowTokens! * world * batch))
  const fewest = enough === undefined || steps === undefined ? (steps ?? enough) : Math.min(steps, enough)
  const usual = rowTokens === undefined ? undefined : null
  return { epochs: epochs === undefined ? usual : epochs, steps: fewest }
}
