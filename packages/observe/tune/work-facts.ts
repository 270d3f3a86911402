/** What the work of a run takes: when that changes, what the tuner found out before may be wrong. */
import { fitModel } from '../model/fit.js'
import type { Weighed } from './seen.js'

/** CPU and blocked time a sample (ms), and the trainer's own work a step (ms). */
export interface WorkFacts {
  cpu: number
  blocked: number
  step: number
}

/** A change by this share is one. */
const CHANGED = 0.2
/** A figure that is less than this share of the others' sum does not matter, however it changes. */
const SMALL = 0.1

export function workFacts({ evidence, accounting }: Weighed): WorkFacts {
  const { cpu, blocked, step } = fitModel(evidence, accounting)
  return { cpu: cpu.value, blocked: blocked.value, step: step.value }
}

/** What has changed, in words; undefined: nothing that matters. */
export function hasChanged(before: WorkFacts, now: WorkFacts): string | undefined {
  const differs = (name: keyof WorkFacts, least: number) =>
    Math.max(before[name], now[name]) > least &&
    Math.abs(now[name] - before[name]) > CHANGED * Math.max(before[name], 1e-9)
  const least = SMALL * (before.cpu + before.blocked)
  const told = (name: keyof WorkFacts) => `${before[name].toFixed(2)} to ${now[name].toFixed(2)} ms`
  if (differs('step', 0.05)) return `the trainer's step went from ${told('step')}`
  if (differs('cpu', least)) return `the CPU time of a sample went from ${told('cpu')}`
  if (differs('blocked', least)) return `a sample's waiting for storage went from ${told('blocked')}`
  return undefined
}
