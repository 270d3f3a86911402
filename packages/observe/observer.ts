/** What the engine asks of this package (core/deliver/observer.ts). The first feed that is opened loads it. */
import type { Observer } from '../core/deliver/observer.js'
import { LoopAccount } from './account/loop-account.js'
import type { Accounting, Diagnosis, Evidence } from './evidence.js'
import type { Watched } from './live/watcher.js'

export interface ObserverTypes {
  /** Where the time of every step went: in the run so far, and in its latest epoch (docs/measure.md). */
  accounts: { account: Accounting; epoch: Accounting }
  evidence: Evidence
  diagnosis: Diagnosis
  watched: Watched
}
declare module '../core/deliver/observer.js' {
  interface ObservedTypes extends ObserverTypes {}
}

export const observer: Observer = {
  loop: (begun, gpu) => new LoopAccount(begun, gpu),

  async client(trainer) {
    const { ClientAccount } = await import('./account/client-account.js')
    return new ClientAccount(trainer)
  },

  async watch(run) {
    const { RecordedRun } = await import('./live/run-watch.js')
    return new RecordedRun(run)
  },

  async tuner(mayTuneWorkers) {
    const { EngineTuner } = await import('./tune/engine-tuner.js')
    const tuner = EngineTuner.shared()
    tuner.mayTuneWorkers = mayTuneWorkers
    return tuner
  },
}
