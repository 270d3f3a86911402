/** How many tokens a second a feed gives on this machine, to a trainer that computes nothing. */
import { elements } from '../basics/dtype.js'
import { MillraceError } from '../basics/errors.js'
import { normalizeFeed } from '../define/normalize.js'
import type { TokensFeedJson } from '../define/token-feed.js'
import type { FeedJson, NormalField } from '../define/types.js'
import { open } from '../deliver/node/open.js'

export interface MeasuredTokens {
  tokensPerSecond: number
  rowsPerSecond: number
  /** Tokens of a row, in the mean. */
  length: number
  workers: number
  seconds: number
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
  const { root, plugins, workers, seconds: wanted, notice } = options
  const field = tokenField(normalizeFeed(feed, root, plugins).fields)
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
    let tokens = 0
    for await (const batch of loader) {
      const now = performance.now()
      // The first batch waits for the start of the workers.
      if (begun === 0) begun = now
      else {
        rows += batch.count
        tokens += tokensIn(field, batch)
        if (now - begun >= wanted * 1000) break
      }
    }
    const seconds = (performance.now() - begun) / 1000
    if (rows === 0)
      throw new MillraceError('the feed ended after its first batch: there is nothing to measure')
    return {
      tokensPerSecond: tokens / seconds,
      rowsPerSecond: rows / seconds,
      length: tokens / rows,
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
    'the feed has no field of tokens: plan measures feeds of tokens; millrace run measures any feed',
  )
}

function tokensIn(
  { name, layout }: NormalField,
  batch: { count: number; lengths(name: string): Int32Array },
): number {
  if (layout.form === 'dense') return batch.count * elements(layout.shape)
  return batch.lengths(name).reduce((sum, length) => sum + length, 0) * elements(layout.shape)
}
