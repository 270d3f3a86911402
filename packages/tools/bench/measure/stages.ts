/** When the warm-up of a run ends, and when the run does. Pure: it gets steps and the time. */
import type { Length } from './task.js'

/** Batches before these are made by code that is not compiled yet, and workers have just begun: steps, and ms. */
const WARM_STEPS = 12
const WARM_MS = 700
/** However slow a feed is: of fewer steps nothing can be said. */
const LEAST_STEPS = 2
/** A window by time is long enough with so many steps, from which on causes are named; with fewer it takes up to this many times as long. */
const ENOUGH_STEPS = 100
const LONGER = 2.5

/** How long the steady state of a run by time takes (s), about. */
export function steadySeconds(seconds: number, stepMs: number): number {
  return Math.max(seconds, Math.min(LONGER * seconds, (ENOUGH_STEPS * stepMs) / 1000))
}

export class Stages {
  steady = false
  over = false
  private begun: number | undefined
  private steadySince = 0
  private steps = 0
  private steadySteps = 0
  private epochs = 0
  private now = 0
  private readonly warmSteps: number

  constructor(
    private readonly length: Length,
    /** Steps of an epoch; Infinity where it has no end. */
    private readonly epochSteps: number,
  ) {
    // A run of few steps is not all warm-up.
    const all = length.epochs === undefined ? Infinity : length.epochs * epochSteps
    this.warmSteps = Math.max(1, Math.min(WARM_STEPS, Math.floor(all / 4)))
  }

  /** A step is over. */
  stepped(now: number): void {
    this.begun ??= now // the first batch is not counted: it waits for all that starts
    this.now = now
    this.steps++
    if (this.steady) this.steadySteps++
    else if (!this.length.skipEpoch && this.warm) this.begin()
    if (this.steady) this.over = this.done
  }

  /** An epoch is over: all of it, or the run has ended in it. */
  epochEnded(now: number): void {
    this.epochs++
    this.now = now
    if (!this.steady && this.length.skipEpoch) this.begin()
    const { epochs } = this.length
    if (epochs !== undefined && this.epochs >= epochs) this.over = true
  }

  /** How much of the run is over, 0…1. */
  get share(): number {
    const { seconds, steps, epochs } = this.length
    const all: number[] = []
    if (steps !== undefined) all.push(this.steps / (this.warmSteps + steps))
    if (epochs !== undefined) all.push(this.steps / (epochs * this.epochSteps))
    if (all.length === 0 && this.begun !== undefined)
      all.push((this.now - this.begun) / (1000 * seconds + WARM_MS))
    return Math.min(1, Math.max(0, ...all.filter(Number.isFinite)))
  }

  private begin(): void {
    this.steady = true
    this.steadySince = this.now
  }

  private get warm(): boolean {
    const passed = this.now - (this.begun ?? this.now)
    const { epochs, steps, seconds } = this.length
    if (this.steps < LEAST_STEPS && epochs === undefined) return false
    if (epochs !== undefined || steps !== undefined) return this.steps >= this.warmSteps
    return (this.steps >= this.warmSteps && passed >= WARM_MS) || passed >= 2000 * seconds
  }

  private get done(): boolean {
    const { seconds, steps, epochs } = this.length
    if (steps !== undefined) return this.steadySteps >= steps
    if (epochs !== undefined) return false
    const passed = (this.now - this.steadySince) / 1000
    if (this.steadySteps < LEAST_STEPS || passed < seconds) return false
    return this.steadySteps >= ENOUGH_STEPS || passed >= LONGER * seconds
  }
}
