/** What a client is told when its ring is open: `opened` of docs/protocol.md. */
import { DTYPES, type Dtype } from '../../basics/dtype.js'
import type { SlotLayout } from '../../batch/layout.js'
import { CONTROL_BYTES } from '../../batch/ring.js'
import { fieldsForDevice } from '../../engine/plan/making.js'
import { makeState } from '../../order/state.js'
import { stepPlan } from '../../order/steps.js'
import { SpanFile } from '../../spans/file.js'
import { cudaKernels } from '../../system/node/registry.js'
import { startTime } from '../../system/process/proc.js'
import { isEndless } from '../limits.js'
import { PROTOCOL } from '../protocol-facts.js'
import type { ClientGenerator } from './client-generator.js'
import type { Member, Serving } from './serving.js'

/** What belongs to one client: its generator, and what was said while its feed was opened. */
export interface Told {
  generator: ClientGenerator
  notices: string[]
  /** Of Millrace. */
  version: string
}

export function describeOpened(
  { opened, feeding, options }: Serving,
  member: Member,
  { generator, notices, version }: Told,
): object {
  const { plan, share, place } = opened
  const { rank, world, rankFrom } = options
  const steps = stepPlan({ ...share, start: place })
  const { epoch: _, position: __, ...state } = makeState(plan, place)
  const { ring, shared: memory, layout } = feeding
  const spans = SpanFile.shared()
  const path = (fd: number): string => `/proc/${process.pid}/fd/${fd}`
  return {
    version: PROTOCOL,
    engine: { pid: process.pid, started: startTime(process.pid), millrace: version },
    memory: {
      path: path(memory.words.fd),
      dataPath: path(memory.data.fd),
      bytes: memory.bytes,
      control: CONTROL_BYTES,
      slots: ring.capacity,
      slotBytes: layout.bytes,
    },
    ready: { path: path(member.pipe.read) },
    ...(spans && { spans: { path: spans.path, ring: feeding.id } }),
    layout: describeLayout(layout),
    decode: options.decode,
    kernels: cudaKernels(),
    generator: generator.describe(feeding),
    generates: fieldsForDevice(plan.feed, 'generated').length > 0,
    compressed: fieldsForDevice(plan.feed, 'compressed'),
    rank,
    world,
    rankFrom,
    length: plan.length,
    ...(plan.feed.rowTokens !== undefined && { rowTokens: plan.feed.rowTokens }),
    ...(plan.feed.order.kind === 'megatron' && { once: true }),
    ...(isEndless(plan.feed) && { endless: true }),
    steps: { epoch: steps.stepsInEpoch, first: steps.stepsInFirstEpoch },
    ...(plan.feed.batch.bins && { bins: plan.feed.batch.bins.tokens }),
    place,
    depth: feeding.depth,
    generation: ring.generation,
    hashes: plan.hashes,
    state,
    last: plan.feed.batch.last,
    onError: plan.feed.onError,
    notices,
  }
}

function describeLayout(layout: SlotLayout): object {
  const { rows, chunks, statusAt, positionAt, rowAt, sourceAt, dataAt, fields } = layout
  const dlpack = (dtype: Dtype): number[] => [...DTYPES[dtype].dlpack, 1]
  const described = fields.map(({ device, ...field }) => ({
    ...field,
    dlpack: dlpack(field.dtype),
    ...(device && { device: { ...device, dlpack: dlpack(device.dtype) } }),
  }))
  return { rows, chunks, statusAt, positionAt, rowAt, sourceAt, dataAt, fields: described }
}
