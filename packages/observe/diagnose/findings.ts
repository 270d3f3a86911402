/** What `millrace diagnose` has to say, as one JSON object: the diagnosis, and the figures it was made of. */
import { account } from '../account/account.js'
import type { Accounting, Diagnosis, Evidence } from '../evidence.js'
import { type Fit, fitModel } from '../model/fit.js'
import { conclude } from '../verdict/judge.js'

export interface Findings extends Diagnosis {
  account: Accounting
  /** What the model was given: costs of a sample, cores, bytes/s. */
  model: Fit
  /** All that was seen, for `--record`. */
  recorded: Evidence
}

export function findings(evidence: Evidence): Findings {
  const accounting = account(evidence)
  return {
    ...conclude(evidence, accounting),
    account: accounting,
    model: fitModel(evidence, accounting),
    recorded: evidence,
  }
}
