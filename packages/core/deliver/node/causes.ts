/** Why samples were bad, counted: errors that differ only in names and numbers are one cause. */
import type { BadReport } from '../../engine/plan/job.js'
import { EXAMPLES, MOST_CAUSES, TOLD_CAUSES } from './judge-facts.js'

export interface Cause {
  count: number
  /** As the first of them said it. */
  problem: string
  stage: string
  /** What was being made: a field, or the sample. */
  of: string
  suspect: BadReport['suspect']
  examples: string[]
}

export class Causes {
  private readonly causes = new Map<string, Cause>()
  private others = 0

  add({ where, problem, suspect }: BadReport): void {
    const { id, file, field, stage } = where
    const of = field === undefined ? 'the sample' : `field "${field}"`
    const key = `${stage} ${of} ${alike(problem, [id, file])}`
    let cause = this.causes.get(key)
    if (cause === undefined) {
      if (this.causes.size >= MOST_CAUSES) {
        this.others++
        return
      }
      cause = { count: 0, problem, stage, of, suspect, examples: [] }
      this.causes.set(key, cause)
    }
    cause.count++
    if (cause.examples.length < EXAMPLES) cause.examples.push(id)
  }

  /** The cause of all of them, if they have one in common. */
  get only(): Cause | undefined {
    return this.causes.size === 1 && this.others === 0 ? [...this.causes.values()][0] : undefined
  }

  /** The most frequent first, each with some of its samples. */
  text(): string {
    const sorted = [...this.causes.values()].sort((a, b) => b.count - a.count)
    const reported = sorted.slice(0, TOLD_CAUSES).map(({ count, problem, stage, of, examples }) => {
      const more = count > examples.length ? ', …' : ''
      return `${count} × ${stage} of ${of} failed: ${problem} (${examples.join(', ')}${more})`
    })
    const rest = sorted.slice(TOLD_CAUSES).reduce((sum, { count }) => sum + count, this.others)
    return [...reported, ...(rest > 0 ? [`${rest} × others`] : [])].join('; ')
  }
}

/** The text without what differs from sample to sample. */
function alike(problem: string, names: readonly (string | undefined)[]): string {
  let text = problem
  for (const name of names) if (name) text = text.replaceAll(name, '…')
  return text.replace(/"[^"]*"/g, '"…"').replace(/\d+/g, '#')
}
