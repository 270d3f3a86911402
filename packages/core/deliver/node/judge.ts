/**
 * Judges bad samples when their batch is handed out, in order: what the feed's `onError` says becomes of them, and
 * whether the run ends here. What looks like a mistake in the definition or the installation ends it whatever the
 * policy. python/millrace/_stream/judge.py has the same rules.
 */

import {
  ChangedError,
  DefinitionError,
  MillraceError,
  MissingError,
  SampleError,
} from '../../basics/errors.js'
import type { NormalFeed } from '../../define/types.js'
import type { BadReport, Mistake } from '../../engine/plan/job.js'
import type { BadSample } from '../stats.js'
import { Causes } from './causes.js'
import { FEW, FEW_ALIKE, FIRST, LISTED, NAMED } from './judge-facts.js'
import type { Taken } from './sink.js'

export class Judge {
  /** Distinct bad samples of this run, the first of them in full. */
  count = 0
  readonly samples: BadSample[] = []
  /** Their names. No more than the budget and one are kept: then the run ends. */
  private readonly names = new Set<string>()
  private readonly causes = new Causes()
  /** Samples handed out or found bad so far, and how many of the first ones were bad. */
  private seen = 0
  private badAmongFirst = 0
  /** Whether it is still to be seen if the feed works at all. */
  private early = true
  /** Bad rows of this epoch, and the first of their names. */
  private rows = 0
  private named: string[] = []
  /** As many different ones were told of. */
  private reported = 0

  constructor(
    private readonly onError: NormalFeed['onError'],
    /** Samples that this rank has in an epoch, about. */
    private readonly epochRows: number,
  ) {}

  /** Judges a batch that was taken; of the last one of an epoch, says what was bad in that. Throws where the run ends. */
  taken({ bad, samples }: Pick<Taken, 'bad' | 'samples'>, epoch: number, last: boolean): string | undefined {
    this.batch(bad, samples)
    return last ? this.epochEnds(epoch) : undefined
  }

  /** Judges a batch of so many samples, fillers left out. Throws where the run ends. */
  batch(bad: readonly BadReport[], samples: number): void {
    for (const report of bad) this.sample(report)
    this.seen += samples
    if (this.early && this.onError.policy !== 'fail') this.first()
  }

  private sample(report: BadReport): void {
    const { row, where, problem, mistake } = report
    if (row < 0) throw mistake === 'Changed' ? new ChangedError(problem, where) : new MillraceError(problem)
    const error = new SampleError(where, problem)
    const { policy, budget } = this.onError
    if (this.seen + row < FIRST) this.badAmongFirst++
    if (this.rows++ < NAMED) this.named.push(where.id)
    if (!this.names.has(where.id)) {
      this.names.add(where.id)
      this.count++
      this.causes.add(report)
      if (this.samples.length < LISTED)
        this.samples.push({ id: where.id, stage: where.stage, message: error.message })
    }
    if (policy === 'fail') throw error
    if (mistake !== undefined) throw mistaken(mistake, error.message)
    if (this.count <= budget) return
    throw new MillraceError(
      `${this.count} bad samples are more than onError.budget = ${budget} allows; the last: ${error.message}` +
        (this.count > NAMED ? `. All of them: ${this.causes.text()}` : ''),
    )
  }

  /** Does the feed work at all? */
  private first(): void {
    const { seen, badAmongFirst, causes } = this
    if (badAmongFirst === seen && seen >= Math.min(FEW_ALIKE, this.epochRows)) {
      const suspect = causes.only?.suspect
      const what = suspect === 'code' ? 'your code fails for every sample' : 'no sample can be made'
      if (suspect !== undefined) throw mistaken('Definition', `${what}: ${causes.text()}`)
    }
    const looked = Math.min(FIRST, seen)
    if (badAmongFirst > FIRST / 2) this.tooMany(looked)
    if (seen >= FIRST) this.early = false
  }

  private tooMany(looked: number): never {
    throw new MillraceError(
      `${this.badAmongFirst} of the first ${looked} samples are bad: that is more than half, and looks like a mistake in ` +
        `the feed. ${this.causes.text()}. Mend the feed, or leave those samples out of its source`,
    )
  }

  /**
   * An epoch is over: says how many were dropped or masked in it, if any were for the first time. Throws where it was a bad
   * beginning.
   */
  epochEnds(epoch: number): string | undefined {
    const { rows, named, seen } = this
    if (this.early && this.epochRows >= FEW && seen >= FEW) {
      this.early = false
      if (this.badAmongFirst > seen / 2 && this.onError.policy !== 'fail') this.tooMany(seen)
    }
    this.rows = 0
    this.named = []
    if (rows === 0 || this.count === this.reported) return undefined
    this.reported = this.count
    const more = rows > named.length ? ` and ${rows - named.length} more` : ''
    const done = this.onError.policy === 'mask' ? 'masked' : 'dropped'
    return `epoch ${epoch}: ${rows} bad sample${rows === 1 ? '' : 's'} ${done}: ${named.join(', ')}${more}`
  }
}

/** The error for what is no bad sample. */
function mistaken(tag: Mistake, message: string): MillraceError {
  const text = `${message}. "onError" is for bad samples, and this is none`
  return tag === 'Missing' ? new MissingError(text) : new DefinitionError('', text)
}
