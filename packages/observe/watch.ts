/** Looks at a loop that runs in this process: it only reads. */
import { MillraceError } from '../core/basics/errors.js'
import { monotonicMs } from '../core/spans/clock.js'
import { SpanFile } from '../core/spans/file.js'
import { collect } from './account/collect.js'
import { spansOfLoader } from './account/source.js'
import type { Diagnosis } from './evidence.js'
import { GatheredSpans } from './gather.js'
import { HostSampler } from './host/sampler.js'
import { judge } from './verdict/judge.js'

/** How often the spans are looked at, and for how long workers hold them back (ms). */
const LOOK = 500
const HELD = 60

/** Why the loop that takes the batches of a ring waits: from what happens in the next seconds. */
export async function watchLoop(ring: number, seconds: number): Promise<Diagnosis> {
  if (!(seconds > 0 && seconds <= 3600))
    throw new MillraceError(`seconds: expected a number from 0 to 3600, not ${seconds}`)
  const reader = SpanFile.shared()?.reader
  if (reader === undefined)
    throw new MillraceError('nothing can be said of a run without spans: MILLRACE_SPANS turns them off')
  const spans = new GatheredSpans(reader)
  const host = new HostSampler()
  try {
    const before = host.look()
    const from = monotonicMs()
    while (monotonicMs() - from < 1000 * seconds) {
      await sleep(Math.min(LOOK, 1000 * seconds))
      spans.look()
    }
    const to = monotonicMs()
    const signals = host.between(before, host.look())
    await sleep(HELD)
    return judge(collect(spansOfLoader(spans, ring), { from, to, host: signals }))
  } finally {
    host.close()
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
