/** Progress of a loop that is watched: its rate, what it loses and why, in place of the rate of steps alone. */
import type { Loader } from '../../deliver/node/loader.js'
import type { Watched } from '../../observe/live/watcher.js'
import { cause } from '../../observe/verdict/words.js'
import type { Progress } from '../progress.js'
import { percent, rate } from '../units.js'

/** The rate is that of so many seconds: it has to show when something slows down, and not to flicker. */
const SECONDS = 5

/** What a line says of a run, second by second. */
export class LiveText {
  private readonly seconds: { samples: number; seconds: number }[] = []

  /** `trained` false: the trainer computes nothing, and loses nothing by waiting. */
  constructor(private readonly trained = true) {}

  /** `1,363 samples/s  lost 8.1 %: 2 workers can't decode fast enough`. */
  of({ record, window }: Pick<Watched, 'record' | 'window'>): string {
    const { seconds } = this
    seconds.push({ samples: record.samples, seconds: record.seconds })
    if (seconds.length > SECONDS) seconds.shift()
    const time = seconds.reduce((sum, one) => sum + one.seconds, 0)
    const samples = seconds.reduce((sum, one) => sum + one.samples, 0)
    const speed = time > 0 ? rate(samples / time, 'samples') : ''
    // A diagnosis is some seconds old: with other workers or another depth by now, it is about what is gone.
    const facts = window?.evidence.facts
    const current = facts?.workers === record.workers && facts.depth === record.depth
    const why = window && current ? cause(window.diagnosis) : null
    const lost = (current ? window?.accounting.lost : undefined) ?? record.lost
    if (lost === null) return speed
    if (!this.trained) return why === null ? speed : `${speed}  ${why}`
    return `${speed}  lost ${percent(lost)}${why === null ? '' : `: ${why}`}`
  }
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
