/**
 * `decode: "auto"`: who decodes images, the makers or the device, decided by measuring. The CPU goes first: it takes
 * nothing from the trainer. If the trainer hardly ever waits, that is that. Otherwise the device decodes for a while,
 * and whoever feeds the trainer faster goes on. (The Python client decides in the same way.)
 */

export interface TrialLength {
  /** Steps after a change that say nothing yet: batches are on their way, caches fill. */
  settling: number
  /** A trial takes this many steps, and this long (seconds), at least. */
  steps: number
  seconds: number
}

const USUAL: TrialLength = { settling: 10, steps: 20, seconds: 1.5 }
/** Below this share of the time nobody minds waiting. */
const FINE = 0.02
/** The device must be this much faster to be worth what it takes of the GPU. */
const BETTER = 1.01

type Decoder = 'cpu' | 'gpu'

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

  toString(): string {
    return `${Math.round(this.rate).toLocaleString('en')} samples/s, waiting ${(this.share * 100).toFixed(1)} % of the time`
  }
}

export class Decision {
  /** Who is to decode from now on. */
  where: Decoder = 'cpu'
  /** Why, once it is decided. */
  why: string | undefined
  private skip: number
  private readonly trials: Record<Decoder, Trial> = { cpu: new Trial(), gpu: new Trial() }

  constructor(private readonly length: TrialLength = USUAL) {
    this.skip = length.settling
  }

  /** One step was made, with `decoder` decoding: how long it took in all, and was waited for. */
  step(decoder: Decoder, samples: number, seconds: number, waited: number): void {
    // While a change is due that could not be made yet, nothing is measured.
    if (this.why !== undefined || decoder !== this.where) return
    if (this.skip-- > 0) return
    const trial = this.trials[decoder]
    trial.steps++
    trial.samples += samples
    trial.seconds += seconds
    trial.waited += waited
    if (trial.steps < this.length.steps || trial.seconds < this.length.seconds) return
    if (decoder === 'gpu') this.compare()
    else if (trial.share <= FINE) this.settle('cpu', `it keeps up (${trial})`)
    else {
      this.where = 'gpu'
      this.skip = this.length.settling
    }
  }

  /** The device can't after all. */
  refuse(reason: string): void {
    this.settle('cpu', reason)
  }

  private compare(): void {
    const { cpu, gpu } = this.trials
    if (gpu.rate > BETTER * cpu.rate) this.settle('gpu', `${gpu}; with the CPU ${cpu}`)
    else this.settle('cpu', `${cpu}; with the GPU ${gpu}`)
  }

  private settle(where: Decoder, why: string): void {
    this.where = where
    this.why = `images are decoded on the ${where === 'gpu' ? 'GPU' : 'CPU'}: ${why}`
  }
}
