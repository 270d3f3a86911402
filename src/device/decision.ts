/**
 * `decode: "auto"`: who decodes images, the makers, the device or both, decided by measuring. The CPU goes first: it
 * takes nothing from the trainer. If the trainer hardly ever waits, that is that. Otherwise the device decodes for a
 * while, then both do: the CPU nearly as much as it can, the device what is missing. What feeds the trainer fastest
 * goes on. (The Python client decides likewise.)
 */
import { BETTER, FINE, LESS, MEASURING, SETTLING, SHARES } from './decision-facts.js'

/** How long something lasts at least. */
export interface Length {
  steps: number
  seconds: number
}

/** What a trial takes, and what comes before it. */
export interface TrialLength {
  settling: Length
  measuring: Length
}

const USUAL: TrialLength = { settling: SETTLING, measuring: MEASURING }

export type Decoder = 'cpu' | 'gpu' | 'both'

/** What was measured while one of them decoded. */
class Trial {
  steps = 0
  samples = 0
  seconds = 0
  waited = 0

  get rate(): number {
    return this.seconds > 0 ? this.samples / this.seconds : 0
  }

  get share(): number {
    return this.seconds > 0 ? this.waited / this.seconds : 0
  }

  add(samples: number, seconds: number, waited: number): void {
    this.steps++
    this.samples += samples
    this.seconds += seconds
    this.waited += waited
  }

  lasted({ steps, seconds }: Length): boolean {
    return this.steps >= steps && this.seconds >= seconds
  }

  toString(): string {
    return `${Math.round(this.rate).toLocaleString('en')} samples/s, waiting ${(this.share * 100).toFixed(1)} % of the time`
  }
}

export class Decision {
  /** Who is to decode from now on. */
  who: Decoder = 'cpu'
  /** Why, once it is decided. */
  why: string | undefined
  /** Steps since the last change, until it has settled. */
  private before = new Trial()
  private readonly trials: Record<Decoder, Trial> = { cpu: new Trial(), gpu: new Trial(), both: new Trial() }

  constructor(private readonly length: TrialLength = USUAL) {}

  /** When both decode: the share of the CPU. */
  get cpuShare(): number {
    if (this.who !== 'both') return 0
    // While the CPU decoded alone, this much of what the trainer could have taken was there.
    const fed = 1 - this.trials.cpu.share
    const share = Math.round(LESS * fed * SHARES)
    return Math.min(Math.max(share, 1), SHARES - 1) / SHARES
  }

  /** One step was made, with `decoder` decoding: how long it took in all, and was waited for. */
  step(decoder: Decoder, samples: number, seconds: number, waited: number): void {
    // While a change is due that could not be made yet, nothing is measured.
    if (this.why !== undefined || decoder !== this.who) return
    const { settling, measuring } = this.length
    if (!this.before.lasted(settling)) {
      this.before.add(samples, seconds, waited)
      return
    }
    const trial = this.trials[decoder]
    trial.add(samples, seconds, waited)
    if (!trial.lasted(measuring)) return
    if (decoder === 'cpu' && trial.share <= FINE) this.settle('cpu', `it keeps up (${trial})`)
    else if (decoder === 'both') this.compare()
    else {
      this.who = decoder === 'cpu' ? 'gpu' : 'both'
      this.before = new Trial()
    }
  }

  /** Workers or depth are being changed: what was measured meanwhile says nothing, the trial begins again. */
  pause(): void {
    if (this.why !== undefined) return
    this.before = new Trial()
    this.trials[this.who] = new Trial()
  }

  /** The device can't after all. */
  refuse(reason: string): void {
    this.settle('cpu', reason)
  }

  /** The fastest; of those that are as fast, the one that takes least of the trainer's GPU. */
  private compare(): void {
    const { trials } = this
    const best = (['both', 'gpu'] as const).reduce<Decoder>(
      (before, other) => (trials[other].rate > BETTER * trials[before].rate ? other : before),
      'cpu',
    )
    const others = (Object.keys(NAMES) as Decoder[])
      .filter(who => who !== best)
      .map(who => `${NAMES[who]}: ${trials[who]}`)
    this.settle(best, `${trials[best]} (${others.join('; ')})`)
  }

  private settle(who: Decoder, why: string): void {
    this.who = who
    const share = who === 'both' ? `, ${Math.round(this.cpuShare * 100)} % of them on the CPU` : ''
    this.why = `images are decoded on ${NAMES[who]}${share}: ${why}`
  }
}

const NAMES: Record<Decoder, string> = { cpu: 'the CPU', gpu: 'the GPU', both: 'both' }
