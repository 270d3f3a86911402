/** Measures a field: makes it of every sample of a source once, by the same workers and programs that will make batches. */
import { DTYPES, elements } from '../../basics/dtype.js'
import { Header } from '../../batch/slot.js'
import type { NormalFeed, NormalField } from '../../define/types.js'
import { compileOrder, planOrder } from '../../order/compile.js'
import type { OnProgress } from '../../source/source.js'
import type { OfSources } from '../plan/lengths.js'
import type { FeedPlan } from '../plan/plan.js'
import { Feeding } from '../ring/feeding.js'
import type { FeedingOptions } from '../ring/new-ring.js'

/** Bytes of a batch while lengths are measured, and its rows at most. */
const BATCH_BYTES = 16 << 20
const BATCH_ROWS = 1024

/** The length of each sample of a source; 0 where it is bad: the run says so, when it comes to it. */
export async function measureLengths(
  of: OfSources,
  field: NormalField,
  source: number,
  options: FeedingOptions,
  progress?: OnProgress,
): Promise<Uint32Array> {
  const { count } = of.attached[source]
  const lengths = new Uint32Array(new SharedArrayBuffer(count * 4))
  if (count === 0) return lengths
  const plan = planOf(of, field, source)
  const size = plan.feed.batch.size!
  const batches = Math.ceil(count / size)
  const feeding = await Feeding.start(
    plan,
    { ...options, rank: 0, world: 1, decode: 'cpu', ready: undefined, sequence: undefined },
    { epoch: 0, position: 0, limit: batches },
  )
  try {
    let done = 0
    for (let batch = 0; batch < batches; batch++) {
      const index = await feeding.take(batch)
      const slot = feeding.slot(index)
      const rows = slot.words[Header.Count]
      lengths.set(slot.column(slot.layout.fields[0].lengthAt).subarray(0, rows), done)
      done += rows
      feeding.badOf(batch)
      feeding.release(index)
      progress?.(done, count, `measuring ${field.name}`, 'samples')
    }
  } finally {
    await feeding.close()
    feeding.vacate()
  }
  return lengths
}

/** A feed of that field alone, in the source's own order. Bad samples stay in their places, as rows without elements. */
function planOf(of: OfSources, field: NormalField, source: number): FeedPlan {
  const { total: _, ...layout } = field.layout
  const bytes = elements(layout.shape) * DTYPES[layout.dtype].bytes * (layout.max ?? 1)
  const size = Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / Math.max(1, bytes))))
  const feed: NormalFeed = {
    ...of.feed,
    order: { kind: 'none' },
    fields: [{ ...field, layout }],
    batch: { size, last: 'keep', apply: [] },
    onError: { policy: 'mask', budget: Infinity },
  }
  const attached = [of.attached[source]]
  const orderData = planOrder(feed.order, attached)
  const order = compileOrder(orderData)
  const hashes = {
    order: `measuring ${field.name} of ${of.sources[source].manifest.fingerprint.digest}`,
    content: '',
  }
  return {
    feed,
    sources: [of.sources[source]],
    attached,
    ...(of.tokenizers && { tokenizers: of.tokenizers }),
    orderData,
    order,
    hashes,
    description: { hash: '', source: '', count: order.length, digest: '', combinators: '', order: 'none' },
    parts: [],
    length: order.length,
    indexBytes: of.indexBytes,
  }
}
