/** Runs and files of bench that were never measured, for tests of what is made of them. */
import { configurationOf, type Role, type Setting } from '../../../bench/grid/configuration.js'
import type { RunFigures } from '../../../bench/measure/task.js'
import type { BenchFile, Header } from '../../../bench/result/file.js'
import type { MeasuredRun } from '../../../bench/result/summary.js'

export const setting = (workers: number, depth = 4): Setting => ({
  workers,
  depth,
  affinity: 'off',
  cache: null,
})

export function figures(samplesPerSecond: number, more: Partial<RunFigures> = {}): RunFigures {
  const stepMs = 32_000 / samplesPerSecond
  const running = Math.max(0, 1 - 10 / stepMs)
  return {
    steps: 100,
    samples: 3200,
    seconds: 3200 / samplesPerSecond,
    samplesPerSecond,
    bytesPerSecond: 1e6,
    stepMs,
    idealMs: 10,
    lost: running,
    parts: {
      ideal: 1 - running,
      slowed: 0,
      handOver: 0,
      transfer: 0,
      running,
      queued: 0,
      blocked: 0,
      noSlot: 0,
    },
    intervals: null,
    wait: { mean: 1, p50: 1, p95: 2, p99: 3, max: 4, over50us: 1 },
    waits: [
      [0.5, 40],
      [1.2, 60],
    ],
    au: { dlio: 1 - running, nominal: 1 - running },
    cpuSecondsPer1000: 1,
    memory: { peakBytes: 2e8, rssBytes: 2e8, sharedBytes: 1e8 },
    firstBatchMs: 300,
    openMs: 50,
    warmUp: { steps: 12, seconds: 1 },
    epochs: 1,
    epochGapMs: null,
    verdict: 'running',
    second: null,
    sentence: 'Your trainer loses some: it waits.',
    makers: { running: 1, queued: 0, blocked: 0, noSlot: 0 },
    slotBytes: 1e6,
    cacheBytes: null,
    otherCores: 0,
    bad: 0,
    decoders: {},
    hashes: { order: 'o', content: 'c' },
    ...more,
  }
}

/** One run a round, by samples/s. */
export function runsOf(
  of: Setting,
  role: Role,
  rates: readonly number[],
  more: Partial<RunFigures> = {},
): MeasuredRun[] {
  const configuration = configurationOf(of, role)
  return rates.map((rate, i) => ({ configuration, round: i + 1, figures: figures(rate, more) }))
}

export const header: Header = {
  type: 'bench',
  version: 1,
  time: 1_790_000_000_000,
  feed: 'cats.json',
  grid: 'g',
  parameters: {
    stepMs: 10,
    rounds: 3,
    seconds: 3,
    steps: null,
    epochs: null,
    warmUp: 'steps',
  },
  versions: { millrace: '0.1.0', node: '20.0.0' },
  git: null,
  machine: {
    host: 'h',
    system: 'Linux',
    cpu: 'A CPU',
    cores: 4,
    coresPresent: 4,
    quota: null,
    memoryBytes: 8e9,
    freeBytes: 4e9,
    memoryLimit: 'RAM',
    otherCores: 0,
  },
  data: { order: 'o', content: 'c', batch: '32', fileSystem: 'ext4', absent: 0, sourceBytes: 1e6 },
}

export function fileOf(...groups: MeasuredRun[][]): BenchFile {
  return { header: structuredClone(header), runs: groups.flat(), failed: [] }
}
