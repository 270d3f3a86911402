/** Progress of a loop that is watched: its rate, what it loses and why, in place of the rate of steps alone. */
import type { Loader } from '../../../core/deliver/node/loader.js'
import type { RunRecord } from '../../../observe/live/record.js'
import type { Watched } from '../../../observe/live/watcher.js'
import { LEAST_PART } from '../../../observe/verdict/thresholds.js'
import { cause } from '../../../observe/verdict/words.js'
import type { Progress } from '../progress.js'
import { percent, rate } from '../units.js'

/** Rate and loss are those of so many seconds: they have to show when something slows down, and not to flicker. */
const SECONDS = 5
/** A cause was found in seconds that lost so much: where the last ones lost more or less by this, it is not theirs. */
const NEAR = 0.1

/** What a line says of a run, second by second. */
export class LiveText {
  private readonly seconds: RunRecord[] = []

  /** `trained` false: the trainer computes nothing, and loses nothing by waiting. */
  constructor(private readonly trained = true) {}

  /** `1,363 samples/s  lost 8.1 %: 2 workers can't decode fast enough`. */
  of({ record, window }: Pick<Watched, 'record' | 'window'>): string {
    const { seconds } = this
    seconds.push(record)
    if (seconds.length > SECONDS) seconds.shift()
    const time = seconds.reduce((sum, one) => sum + one.seconds, 0)
    const samples = seconds.reduce((sum, one) => sum + one.samples, 0)
    const speed = time > 0 ? rate(samples / time, 'samples') : ''
    const lost = lostOf(seconds)
    if (lost === null) return speed
    const why = window && holds(window, record, lost) ? cause(window.diagnosis) : null
    if (!this.trained) return why === null ? speed : `${speed}  ${why}`
    return `${speed}  lost ${percent(lost)}${why === null ? '' : `: ${why}`}`
  }
}

/** What the steps of these seconds lost, long steps as much as they took. Null: no step ended. */
function lostOf(seconds: readonly RunRecord[]): number | null {
  let time = 0
  let lost = 0
  for (const { steps, stepMs, lost: share } of seconds) {
    if (stepMs === null || share === null) continue
    time += steps * stepMs
    lost += steps * stepMs * share
  }
  return time > 0 ? lost / time : null
}

/** A diagnosis is some seconds old. Whether it is still about these workers, this depth and a loss like this one. */
function holds(
  { evidence, accounting }: NonNullable<Watched['window']>,
  now: RunRecord,
  lost: number,
): boolean {
  const { workers, depth } = evidence.facts
  if (workers !== now.workers || depth !== now.depth) return false
  const before = accounting.lost
  return Math.abs(lost - before) <= NEAR && lost < LEAST_PART === before < LEAST_PART
}

/** Has a progress line say it. `stepMs`: how long a step takes with its batch at hand; 0: nothing is computed. */
export async function liveProgress(
  loader: Pick<Loader, 'watch'>,
  progress: Progress,
  stepMs: number,
): Promise<() => void> {
  const text = new LiveText(stepMs > 0)
  return loader.watch(watched => progress.tell(text.of(watched)), { idealMs: stepMs })
}
