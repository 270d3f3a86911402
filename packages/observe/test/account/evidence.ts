/** Evidence for tests: a window of steps and slices that are given. */
import type { Evidence, Facts, MakerSlice, StepTimes } from '../../evidence.js'

const FACTS: Facts = {
  workers: 2,
  depth: 4,
  claims: 4,
  rows: 32,
  slotBytes: 1e6,
  rank: 0,
  world: 1,
  cores: 2,
}

export function evidenceOf(
  steps: readonly StepTimes[],
  makers: readonly MakerSlice[],
  more: Partial<Evidence> = {},
): Evidence {
  const last = steps.at(-1)
  const to = last ? last.asked + last.supply + last.handOver + last.transfer + last.compute : 0
  return {
    version: 1,
    from: steps[0]?.asked ?? 0,
    to,
    facts: FACTS,
    host: null,
    probes: {},
    lost: 0,
    steps: [...steps],
    makers: [...makers],
    ...more,
  }
}

/** Steps that follow each other, from `asked` on. */
export function stepsLike(count: number, times: Partial<StepTimes>, asked = 0): StepTimes[] {
  const step: StepTimes = {
    asked,
    supply: 0,
    handOver: 0,
    transfer: 0,
    compute: 0,
    samples: 32,
    count: 1,
    ...times,
  }
  const length = step.supply + step.handOver + step.transfer + step.compute
  return Array.from({ length: count }, (_, i) => ({ ...step, asked: asked + i * length }))
}

export function sliceOf(
  slice: Omit<Partial<MakerSlice>, 'work'> & { work?: Partial<MakerSlice['work']> },
): MakerSlice {
  return {
    maker: 0,
    from: 0,
    to: 0,
    wait: 0,
    idle: 0,
    cpu: 0,
    delay: 0,
    gc: 0,
    bytes: 0,
    rows: 0,
    claims: 0,
    reads: 0,
    opens: 0,
    ...slice,
    work: { open: 0, read: 0, decode: 0, transform: 0, map: 0, close: 0, ...slice.work },
  }
}
