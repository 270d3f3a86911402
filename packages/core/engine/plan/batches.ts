/** Batches that go by the lengths of samples: loaded for feeds that have such, when they are opened. */

import { lengthsDigest, planBatches } from '../../order/bins/plan.js'
import { tableBytes } from '../../order/bins/tables.js'
import type { OrderData } from '../../order/compile.js'
import { findLengths, type LengthOptions, type OfSources } from './lengths.js'

/** The order with its groups and bins, and what the plan of a feed has to know of them. */
export interface PlannedBatches {
  data: OrderData
  /** Of the lengths. */
  digest: string
  /** Rows of a batch at most, where it has tokens and no size. */
  rows?: number
  /** Of memory that threads share. */
  bytes: number
}

export async function batchesOf(
  of: OfSources,
  drawn: OrderData,
  options: LengthOptions & { epoch?: number },
): Promise<PlannedBatches> {
  const { epoch = 0, notice } = options
  const lengths = await findLengths(of, options)
  const idOf = (source: number, row: number): string => of.attached[source].id(row)
  const { data, rows, notice: saved } = planBatches(drawn, of.feed, lengths, epoch, idOf)
  if (saved !== undefined) notice?.(saved)
  const arrays = new Set([...(lengths.tokens ?? []), ...(lengths.keys ?? [])])
  const own = [...arrays].reduce((sum, { byteLength }) => sum + byteLength, 0)
  const bytes = own + (data.bins ? tableBytes(data.bins.shared) : 0)
  return { data, digest: lengthsDigest(lengths), bytes, ...(rows !== undefined && { rows }) }
}
