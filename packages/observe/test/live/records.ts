/** Records of a run that never was: for tests of what is made of them. */
import type { RunRecord } from '../../live/record.js'

export function recordOf(second: number, more: Partial<RunRecord> = {}): RunRecord {
  return {
    version: 1,
    time: 1_700_000_000_000 + 1000 * second,
    at: 1000 * second,
    seconds: 1,
    host: 'here',
    trainer: 7,
    engine: 7,
    ring: 1,
    feed: 'cats',
    rank: 0,
    world: 1,
    step: 10 * second,
    steps: 10,
    samples: 320,
    bytes: 0,
    stepMs: 100,
    idealMs: 100,
    idealFrom: 'upper' as const,
    lost: 0,
    parts: partsOf(0),
    wait: { p50: 0, p95: 0, max: 0 },
    workers: 2,
    depth: 4,
    slots: null,
    cores: null,
    memory: { bytes: 1e9, limit: null },
    gpu: null,
    bad: 0,
    why: null,
    decisions: [],
    ...more,
  }
}

/** A second in which so much was lost to workers. */
export function losing(lost: number): Partial<RunRecord> {
  return { lost, parts: partsOf(lost) }
}

function partsOf(lost: number): NonNullable<RunRecord['parts']> {
  return {
    ideal: 1 - lost,
    slowed: 0,
    handOver: 0,
    transfer: 0,
    running: lost,
    queued: 0,
    blocked: 0,
    noSlot: 0,
  }
}
