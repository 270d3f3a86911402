/** What the tuner did to a run: what it kept, what it was trying when the run ended, and all decisions for `--json`. */
import type { Knob } from '../../../core/deliver/ring-tuner.js'
import type { TunerDecision } from '../../../observe/live/record.js'
import { EngineTuner } from '../../../observe/tune/engine-tuner.js'
import { gain } from '../../../observe/verdict/units.js'

/** Decisions that are kept at most: the latest. A run of days has some thousand. */
const MOST = 1000

/** Names of what is set, as a line says them. Who decodes stands in `decoders`. */
const NAMES: Partial<Record<Knob, string>> = {
  workers: 'workers',
  depth: 'depth',
  claim: 'rows per claim',
  ahead: 'rows hinted ahead',
}

export class Tuned {
  readonly decisions: TunerDecision[] = []
  private readonly kept = new Map<Knob, TunerDecision[]>()
  /** What is being checked: the run has it and does not have it in turns. */
  private trial: TunerDecision | undefined

  /** Listens to the tuner of this process, until `end` is called. */
  static listen(): { tuned: Tuned; end: () => void } {
    const tuned = new Tuned()
    const add = (decision: TunerDecision): void => tuned.add(decision)
    const { listeners } = EngineTuner.shared()
    listeners.add(add)
    return { tuned, end: () => void listeners.delete(add) }
  }

  add(decision: TunerDecision): void {
    const { decisions, kept } = this
    decisions.push(decision)
    if (decisions.length > MOST) decisions.shift()
    const { event, knob } = decision
    if (event !== 'refused') this.trial = event === 'tried' ? decision : undefined
    if (event === 'kept' && knob !== null) kept.set(knob, [...(kept.get(knob) ?? []), decision])
  }

  /** The setting of a knob, where it is `now`: of one that is only being tried, the value before. */
  settled(knob: 'workers' | 'depth', now: number): number {
    const { trial } = this
    return trial?.knob === knob && typeof trial.from === 'number' ? trial.from : now
  }

  /** `tuned: workers 1 → 2 (+80 %)`; undefined: it decided nothing. */
  get line(): string | undefined {
    const { decisions, trial } = this
    if (decisions.length === 0) return undefined
    const changes = [...this.kept].flatMap(([knob, list]) => {
      const name = NAMES[knob]
      return name === undefined ? [] : `${name} ${list[0].from}${list.map(stepTo).join('')}`
    })
    const name = trial?.knob && NAMES[trial.knob]
    const trying = trial && name ? [`it was trying ${name} ${trial.to}`] : []
    if (changes.length > 0 || trying.length > 0)
      return `tuned: ${[changes.join(', ') || 'nothing yet', ...trying].join('; ')}`
    return `tuned: nothing. ${decisions.at(-1)?.reason}`
  }
}

function stepTo({ to, measured }: TunerDecision): string {
  return ` → ${to}${measured === null ? '' : ` (${gain(measured.gain, null)})`}`
}
