/** How many samples or tokens a second a feed gives on this machine, to a trainer that computes nothing. */
import { elements } from '../../core/basics/dtype.js'
import { MillraceError } from '../../core/basics/errors.js'
import { normalizeFeed } from '../../core/define/normalize.js'
import type { TokensFeedJson } from '../../core/define/token-feed.js'
import type { FeedJson, NormalField } from '../../core/define/types.js'
import { open } from '../../core/deliver/node/open.js'

export interface MeasuredFeed {
  rowsPerSecond: number
  /** Rows of a batch, and of an epoch: of its whole batches. Infinite: it has no end. */
  batch: number
  epochRows: number
  /** Bytes that are read for a row. */
  rowBytes: number
  workers: number
  seconds: number
}

export interface MeasuredTokens extends MeasuredFeed {
  tokensPerSecond: number
  /** Tokens of a row, in the mean. */
  length: number
}

export interface MeasureOptions {
  root: string
  plugins: readonly string[]
  workers: number | 'auto'
  seconds: number
  notice?: (text: string) => void
}

/** Columns of token sources that hold a row's tokens. */
const COLUMNS = ['input', 'tokens']

export async function measureTokens(
  feed: FeedJson | TokensFeedJson,
  options: MeasureOptions,
): Promise<MeasuredTokens> {
  const field = tokenField(normalizeFeed(feed, options.root, options.plugins).fields)
  let tokens = 0
  let rows = 0
  const measured = await measureFeed(feed, options, batch => {
    rows += batch.count
    tokens += tokensIn(field, batch)
  })
  const length = tokens / rows
  return { tokensPerSecond: measured.rowsPerSecond * length, length, ...measured }
}

export async function measureFeed(
  feed: FeedJson | TokensFeedJson,
  options: MeasureOptions,
  took?: (batch: Taken) => void,
): Promise<MeasuredFeed> {
  const { root, plugins, workers, seconds: wanted, notice } = options
  const loader = open(feed, {
    root,
    plugins: [...plugins],
    allowCode: true,
    workers,
    epochs: null,
    tune: 'off',
    notice,
  })
  try {
    let begun = 0
    let rows = 0
    let size = 0
    for await (const batch of loader) {
      const now = performance.now()
      // The first batch waits for the start of the workers.
      if (begun === 0) begun = now
      else {
        rows += batch.count
        size = Math.max(size, batch.count)
        took?.(batch)
        if (now - begun >= wanted * 1000) break
      }
    }
    const seconds = (performance.now() - begun) / 1000
    if (rows === 0)
      throw new MillraceError('the feed ended after its first batch: there is nothing to measure')
    const { makers } = loader.evidence()
    const made = makers.reduce((sum, slice) => sum + slice.rows, 0)
    return {
      rowsPerSecond: rows / seconds,
      batch: size,
      epochRows: loader.length * size,
      rowBytes: made > 0 ? makers.reduce((sum, { bytes }) => sum + bytes, 0) / made : 0,
      workers: loader.stats().workers,
      seconds,
    }
  } finally {
    await loader.close()
  }
}

/** The field with a row's tokens: by the column that it comes from, or the first of integers. */
function tokenField(fields: readonly NormalField[]): NormalField {
  const integers = fields.filter(({ layout: { dtype, form, shape } }) => {
    return /^[iu](16|32|64)$/.test(dtype) && form !== 'text' && (form !== 'dense' || shape.length > 0)
  })
  const found = integers.find(({ from }) => from.some(column => COLUMNS.includes(column))) ?? integers[0]
  if (found !== undefined) return found
  throw new MillraceError(
    'the feed has no field of tokens: leave out --tokens and --step-tokens, and say --step-ms, to plan a run over its samples',
  )
}

type Taken = { count: number; lengths(name: string): Int32Array }

function tokensIn({ name, layout }: NormalField, batch: Taken): number {
  if (layout.form === 'dense') return batch.count * elements(layout.shape)
  return batch.lengths(name).reduce((sum, length) => sum + length, 0) * elements(layout.shape)
}
