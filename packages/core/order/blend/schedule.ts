/**
 * From which source each unit of a blend draws, as long as its weights stay the same, with random access. There are two ways:
 * shuffled within blocks (shuffled.ts), or always the source that lags most behind (deficit.ts). A blend of corpora that have several
 * files each makes the choice twice: among corpora, then among the files of the corpus that was chosen.
 */
import { quantise } from './apportion.js'
import type { Choice, ChoiceData, Pick, ScheduleKind } from './choice.js'
import { cycleOf, DeficitChoice } from './deficit.js'
import { extrasOf, ShuffledChoice } from './shuffled.js'

/** A choice among corpora, and for each the choice among its sources. */
export interface TwoLevels {
  corpora: ChoiceData
  files: { members: number[]; choice?: ChoiceData }[]
}

export type ScheduleData = ChoiceData | TwoLevels

export interface ScheduleSpec {
  kind: ScheduleKind
  weights: readonly number[]
  /** The corpus of each source, where sources are chosen in two steps. */
  corpora?: readonly string[]
  /** The first unit, and units of each source before it. */
  from: number
  carry: Float64Array
}

export function planSchedule({ kind, weights, corpora, from, carry }: ScheduleSpec): ScheduleData {
  if (corpora === undefined) return { kind, shares: quantise(weights), stream: 'blend', from }
  const names = [...new Set(corpora)]
  const members = names.map(name => weights.flatMap((_, i) => (corpora[i] === name ? [i] : [])))
  const total = (of: ArrayLike<number>, all: readonly number[]) => all.reduce((sum, i) => sum + of[i], 0)
  return {
    corpora: { kind, shares: quantise(members.map(all => total(weights, all))), stream: 'blend', from },
    files: members.map((all, i) => {
      if (all.length === 1 || total(weights, all) === 0) return { members: all }
      const shares = quantise(all.map(member => weights[member]))
      return {
        members: all,
        choice: { kind, shares, stream: `blend/${names[i]}`, from: total(carry, all) },
      }
    }),
  }
}

/** Makes the tables now, so that threads share them. */
export function makeTables(data: ScheduleData): void {
  const choices = 'corpora' in data ? [data.corpora, ...data.files.map(({ choice }) => choice)] : [data]
  for (const choice of choices) {
    if (choice?.kind === 'shuffled') extrasOf(choice)
    if (choice?.kind === 'deficit') cycleOf(choice)
  }
}

/** The choice that some data describe, in any thread. */
export function schedule(data: ScheduleData, seed: number, sources: number): Choice {
  return 'corpora' in data ? new TwoChoices(data, seed, sources) : choiceOf(data, seed)
}

function choiceOf(data: ChoiceData, seed: number): Choice {
  return data.kind === 'deficit' ? new DeficitChoice(data) : new ShuffledChoice(data, seed)
}

class TwoChoices implements Choice {
  private readonly corpora: Choice
  private readonly files: (Choice | undefined)[]

  constructor(
    private readonly data: TwoLevels,
    seed: number,
    private readonly sources: number,
  ) {
    this.corpora = choiceOf(data.corpora, seed)
    this.files = data.files.map(({ choice }) => choice && choiceOf(choice, seed))
  }

  at(unit: number, out: Pick): Pick {
    const { one: corpus, before } = this.corpora.at(unit, out)
    const { members } = this.data.files[corpus]
    out.one = 0
    this.files[corpus]?.at(before, out)
    out.one = members[out.one]
    return out
  }

  counts(unit: number): Float64Array {
    const counts = new Float64Array(this.sources)
    this.corpora.counts(unit).forEach((units, corpus) => {
      const { members } = this.data.files[corpus]
      const inside = this.files[corpus]?.counts(units) ?? [units]
      members.forEach((member, i) => {
        counts[member] = inside[i] ?? 0
      })
    })
    return counts
  }
}
