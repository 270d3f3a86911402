/** Why a run of the simulated trainer took as long as it did: its account, and what to do about it in one line. */
import type { Loader } from '../../core/deliver/node/loader.js'
import { PART_NAMES, partName } from '../../observe/account/parts.js'
import type { Accounting, Diagnosis } from '../../observe/evidence.js'
import type { HostSampler } from '../../observe/host/sampler.js'
import { percent } from './units.js'

/** Parts below this share are not printed. */
const LEAST = 0.005

export interface Why {
  account: Accounting
  diagnosis: Diagnosis
  /** Where the time went, in one line. */
  parts: string
  /** Why, and what to do. */
  sentence: string
}

/** Looks at the machine while a loader runs. */
export class Watch {
  private constructor(
    private readonly host: HostSampler,
    private readonly begun: ReturnType<HostSampler['look']>,
  ) {}

  static async start(): Promise<Watch> {
    const { HostSampler } = await import('../../observe/host/sampler.js')
    const host = new HostSampler({ gpu: false }) // the trainer is simulated
    return new Watch(host, host.look())
  }

  /** The account of the run so far, whose steps should take `stepMs`; 0: the trainer computes nothing. */
  async end(loader: Loader, stepMs: number): Promise<Why> {
    const [{ account }, { conclude }, { sentence }] = await Promise.all([
      import('../../observe/account/account.js'),
      import('../../observe/verdict/judge.js'),
      import('../../observe/verdict/words.js'),
    ])
    const evidence = loader.evidence()
    evidence.host = this.host.between(this.begun, this.host.look())
    this.host.close()
    const steps = evidence.steps.reduce((sum, { count }) => sum + count, 0)
    evidence.probes.ideal = { ms: stepMs, from: 'given', steps }
    const accounting = account(evidence)
    const diagnosis = conclude(evidence, accounting)
    const parts = partsText(accounting, stepMs > 0)
    return { account: accounting, diagnosis, parts, sentence: sentence(diagnosis) }
  }
}

function partsText({ parts, lost }: Accounting, trained: boolean): string {
  const named = PART_NAMES.filter(part => part !== 'ideal' && parts[part] >= LEAST).map(
    part => `${partName(part)} ${percent(parts[part])}`,
  )
  const list = named.length === 0 ? 'nothing to speak of' : named.join(', ')
  return trained ? `lost ${percent(lost)} of the time: ${list}` : `where the time went: ${list}`
}
