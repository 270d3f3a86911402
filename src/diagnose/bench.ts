/**
 * What experiments are made on: a run that goes on while it is measured, and whose workers and depth can be changed. A feed
 * that is opened for it (feed-run.ts), or a trainer in another process (live-run.ts).
 */

/** How long a measurement goes on: until there are both so many steps and seconds, or the most seconds are over. */
export interface Length {
  steps: number
  seconds: number
  most: number
}

/** What went through a run while it was measured. */
export interface Measured {
  steps: number
  samples: number
  seconds: number
  /** Bytes that workers have read. */
  bytes: number
}

export interface Setting {
  workers?: number
  depth?: number
}

export interface Bench {
  /** As it is set now. */
  setting(): Required<Setting>
  set(setting: Setting): Promise<void>
  /** Lets the run go on. */
  measure(length: Length): Promise<Measured>
}

/** A change is given so long to show: new workers start, and what was made before is used up. */
const SETTLE: Length = { steps: 8, seconds: 0.5, most: 4 }

/** Samples/s of each turn, and the most bytes/s of any. */
export interface Turns {
  before: number[]
  after: number[]
  bytesPerSecond: number
}

/** Measures in turns, without and with a change, so that what drifts meanwhile falls on both. The change is undone at the end. */
export async function inTurns(bench: Bench, change: Setting, length: Length, rounds = 2): Promise<Turns> {
  const was = bench.setting()
  const back: Setting = Object.fromEntries(
    Object.keys(change).map(name => [name, was[name as keyof Setting]]),
  )
  const turns: Turns = { before: [], after: [], bytesPerSecond: 0 }
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [setting, rates] of [
        [back, turns.before],
        [change, turns.after],
      ] as const) {
        await bench.set(setting)
        await bench.measure(SETTLE)
        const { samples, seconds, bytes } = await bench.measure(length)
        if (seconds <= 0) continue
        rates.push(samples / seconds)
        turns.bytesPerSecond = Math.max(turns.bytesPerSecond, bytes / seconds)
      }
    }
  } finally {
    await bench.set(back)
  }
  return turns
}

/** New rate / old rate − 1, over all turns. */
export function gainOf({ before, after }: Pick<Turns, 'before' | 'after'>): number {
  const mean = (rates: readonly number[]) => rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  return mean(before) > 0 ? mean(after) / mean(before) - 1 : 0
}
