/** Metrics as flat names and numbers: what W&B's `log` and TensorBoard's `add_scalar` take. */
import type { Accounting } from '../evidence.js'
import { METRICS } from './table.js'

/** `{ 'millrace/lost': 0.07, 'millrace/wait_ms/p95': 3.1, … }`. What is not known is left out. */
export function flatMetrics(accounting: Accounting): Record<string, number> {
  const flat: Record<string, number> = {}
  for (const { name, of } of METRICS) {
    const value = of(accounting)
    if (value !== null && Number.isFinite(value)) flat[`millrace/${name}`] = value
  }
  return flat
}
