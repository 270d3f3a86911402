/** Every metric by name: what it means, and where in an accounting it stands. docs/measure.md lists them all. */
import { PART_NAMES } from '../account/parts.js'
import { MAKER_TIMES, WORK_KINDS } from '../account/slices.js'
import type { Accounting } from '../evidence.js'

export interface Metric {
  /** Without its prefix: `wait_ms/p95` is `millrace/wait_ms/p95` for W&B and TensorBoard. */
  name: string
  /** Null: not known. */
  of(accounting: Accounting): number | null
  /** The same for Prometheus, whose units are seconds, bytes and ratios. Metrics of one name differ by a label. */
  family: string
  label?: readonly [name: string, value: string]
  /** From the metric's unit to that of the family. */
  scale?: number
}

/** What the metrics of a name are, for Prometheus. */
export interface Family {
  type: 'gauge' | 'counter' | 'summary'
  help: string
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  lost_ratio: { type: 'gauge', help: 'Share of the time that a perfect feed would save: 1 - ideal / step.' },
  step_share_ratio: { type: 'gauge', help: 'Where the time of a step went. The parts add up to 1.' },
  step_seconds: { type: 'gauge', help: 'Mean length of a step.' },
  ideal_step_seconds: { type: 'gauge', help: 'Length of a step whose batch is at hand.' },
  steps_total: { type: 'counter', help: 'Steps, without the first.' },
  samples_total: { type: 'counter', help: 'Samples of these steps.' },
  samples_per_second: { type: 'gauge', help: 'Samples a second.' },
  wait_seconds: { type: 'summary', help: 'Wait of a step for its batch: supply and hand-over.' },
  wait_max_seconds: { type: 'gauge', help: 'Longest wait of a step for its batch.' },
  stalled_steps_ratio: { type: 'gauge', help: 'Share of the steps that waited longer than 0.05 ms.' },
  accelerator_utilisation_ratio: { type: 'gauge', help: 'Accelerator utilisation, by two definitions.' },
  first_batch_seconds: { type: 'gauge', help: 'From opening the feed to its first batch.' },
  epoch_gap_seconds: { type: 'gauge', help: 'Mean wait for the first batch of a later epoch.' },
  start_up_ratio: { type: 'gauge', help: 'Share of all waiting at the first batch and at epoch starts.' },
  worker_time_ratio: { type: 'gauge', help: 'What workers did with their time. The shares add up to 1.' },
  worker_work_seconds: { type: 'gauge', help: 'Time of workers per sample, by kind of work.' },
  worker_cpu_seconds: { type: 'gauge', help: 'CPU time of workers per sample.' },
  worker_run_delay_seconds: { type: 'gauge', help: 'Time per sample that workers waited for a core.' },
  worker_blocked_seconds: { type: 'gauge', help: 'Time per sample that workers waited for anything else.' },
  read_bytes_total: { type: 'counter', help: 'Bytes that workers read.' },
  read_bytes_per_second: { type: 'gauge', help: 'Bytes a second that workers read.' },
  read_size_bytes: { type: 'gauge', help: 'Mean size of a read.' },
  opens_total: { type: 'counter', help: 'Files that were opened or looked up.' },
  open_share_ratio: { type: 'gauge', help: 'Opening as a share of opening and reading.' },
  cache_hit_ratio: { type: 'gauge', help: 'Share of the wanted units that were in the cache.' },
  gc_seconds_total: { type: 'counter', help: 'Garbage collection of the trainer within its waits.' },
  host_cores: { type: 'gauge', help: 'Cores of those allowed, by who used them.' },
  host_core_busy_ratio: { type: 'gauge', help: 'How busy the busiest and the idlest allowed core was.' },
  host_pressure_ratio: { type: 'gauge', help: 'Share of the time in which some task waited (PSI).' },
  host_throttled_ratio: {
    type: 'gauge',
    help: 'Share of the time in which the control group was throttled.',
  },
  host_trainer_delay_ratio: {
    type: 'gauge',
    help: "Share of the time in which the trainer's thread wanted a core and had none.",
  },
  host_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of engine and trainer, the page cache, the limit.',
  },
  host_disk_bytes: {
    type: 'gauge',
    help: 'Bytes of the engine that came from the disk, in the latest window.',
  },
  host_refault_bytes: {
    type: 'gauge',
    help: 'Bytes of files that were taken out of memory and read again, in the latest window.',
  },
  gpu_ratio: { type: 'gauge', help: 'Share of the time in which the GPU had work, and of its SMs at work.' },
  gpu_memory_bytes: { type: 'gauge', help: 'Memory in use on the GPU.' },
  gpu_watts: { type: 'gauge', help: 'Power of the GPU.' },
}

const MS = 1e-3

/** In the order in which they are printed: those of a family stand together. */
export const METRICS: readonly Metric[] = [
  { name: 'lost', of: a => a.lost, family: 'lost_ratio' },
  ...PART_NAMES.map(
    (part): Metric => ({
      name: `part/${snake(part)}`,
      of: a => a.parts[part],
      family: 'step_share_ratio',
      label: ['part', snake(part)],
    }),
  ),
  { name: 'step_ms', of: a => a.stepMs, family: 'step_seconds', scale: MS },
  { name: 'ideal_ms', of: a => a.idealMs, family: 'ideal_step_seconds', scale: MS },
  { name: 'steps', of: a => a.steps, family: 'steps_total' },
  { name: 'samples', of: a => a.samples, family: 'samples_total' },
  { name: 'samples_per_second', of: a => a.samplesPerSecond, family: 'samples_per_second' },
  ...(['p50', 'p95', 'p99'] as const).map(
    (name): Metric => ({
      name: `wait_ms/${name}`,
      of: a => a.wait[name],
      family: 'wait_seconds',
      label: ['quantile', String(Number(name.slice(1)) / 100)],
      scale: MS,
    }),
  ),
  { name: 'wait_ms/mean', of: a => a.wait.mean, family: 'wait_seconds', scale: MS },
  { name: 'wait_ms/max', of: a => a.wait.max, family: 'wait_max_seconds', scale: MS },
  { name: 'stalled', of: a => a.wait.over50us, family: 'stalled_steps_ratio' },
  ...(['dlio', 'nominal'] as const).map(
    (name): Metric => ({
      name: `au/${name}`,
      of: a => a.au[name],
      family: 'accelerator_utilisation_ratio',
      label: ['definition', name],
    }),
  ),
  { name: 'first_batch_ms', of: a => a.firstBatchMs, family: 'first_batch_seconds', scale: MS },
  { name: 'epoch_gap_ms', of: a => a.epochGapMs, family: 'epoch_gap_seconds', scale: MS },
  { name: 'start_up', of: a => a.startUpShare, family: 'start_up_ratio' },
  ...MAKER_TIMES.map(
    (state): Metric => ({
      name: `workers/${snake(state)}`,
      of: counted(({ makers }) => makers[state]),
      family: 'worker_time_ratio',
      label: ['state', snake(state)],
    }),
  ),
  ...WORK_KINDS.map(
    (kind): Metric => ({
      name: `work_ms/${kind}`,
      of: counted(({ makers }) => makers.work[kind]),
      family: 'worker_work_seconds',
      label: ['kind', kind],
      scale: MS,
    }),
  ),
  { name: 'cpu_ms', of: a => a.makers.cpuMsPerSample, family: 'worker_cpu_seconds', scale: MS },
  { name: 'run_delay_ms', of: a => a.makers.delayMsPerSample, family: 'worker_run_delay_seconds', scale: MS },
  { name: 'blocked_ms', of: a => a.makers.blockedMsPerSample, family: 'worker_blocked_seconds', scale: MS },
  { name: 'read_bytes', of: counted(a => a.io.bytes), family: 'read_bytes_total' },
  {
    name: 'read_bytes_per_second',
    of: counted(a => a.io.bytesPerSecond),
    family: 'read_bytes_per_second',
  },
  { name: 'read_size', of: counted(a => a.io.meanRead), family: 'read_size_bytes' },
  { name: 'opens', of: counted(a => a.io.opens), family: 'opens_total' },
  { name: 'open_share', of: counted(a => a.io.openShare), family: 'open_share_ratio' },
  { name: 'cache_hits', of: a => a.io.cacheHits, family: 'cache_hit_ratio' },
  { name: 'gc_ms', of: a => a.gcMs, family: 'gc_seconds_total', scale: MS },
  ...(['engine', 'trainer', 'other', 'idle'] as const).map(
    (who): Metric => ({
      name: `host/${who}_cores`,
      of: ({ host }) => host?.[`${who}Cores`] ?? null,
      family: 'host_cores',
      label: ['used_by', who],
    }),
  ),
  ...(['max', 'min'] as const).map(
    (which): Metric => ({
      name: `host/core_busy_${which}`,
      of: ({ host }) => (host?.coreBusy.length ? Math[which](...host.coreBusy) : null),
      family: 'host_core_busy_ratio',
      label: ['core', which === 'max' ? 'busiest' : 'idlest'],
    }),
  ),
  ...(['cpu', 'io', 'memory'] as const).map(
    (resource): Metric => ({
      name: `host/psi_${resource}`,
      of: ({ host }) => host?.psi[resource] ?? null,
      family: 'host_pressure_ratio',
      label: ['resource', resource],
    }),
  ),
  {
    name: 'host/trainer_delay',
    of: ({ host }) => host?.trainerDelay ?? null,
    family: 'host_trainer_delay_ratio',
  },
  { name: 'host/throttled', of: ({ host }) => host?.throttled ?? null, family: 'host_throttled_ratio' },
  ...(['rss', 'pageCache', 'memoryLimit'] as const).map(
    (of): Metric => ({
      name: `host/${snake(of)}_bytes`,
      of: ({ host }) => host?.[`${of}Bytes`] ?? null,
      family: 'host_memory_bytes',
      label: ['of', snake(of)],
    }),
  ),
  { name: 'host/disk_bytes', of: ({ host }) => host?.diskBytes ?? null, family: 'host_disk_bytes' },
  { name: 'host/refault_bytes', of: ({ host }) => host?.refaultBytes ?? null, family: 'host_refault_bytes' },
  ...(['hasWork', 'smActive'] as const).map(
    (what): Metric => ({
      name: `gpu/${snake(what)}`,
      of: ({ host }) => host?.gpu?.[what] ?? null,
      family: 'gpu_ratio',
      label: ['of', snake(what)],
    }),
  ),
  { name: 'gpu/memory_bytes', of: ({ host }) => host?.gpu?.memoryBytes ?? null, family: 'gpu_memory_bytes' },
  { name: 'gpu/watts', of: ({ host }) => host?.gpu?.watts ?? null, family: 'gpu_watts' },
]

function snake(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

/** What workers count: not known where no worker was seen (`MILLRACE_SPANS=0`). */
function counted(of: Metric['of']): Metric['of'] {
  return accounting => (accounting.makers.from === 'none' ? null : of(accounting))
}

/** `{ 'millrace/lost': 0.07, 'millrace/wait_ms/p95': 3.1, … }`. What is not known is left out. */
export function flatMetrics(accounting: Accounting): Record<string, number> {
  const flat: Record<string, number> = {}
  for (const { name, of } of METRICS) {
    const value = of(accounting)
    if (value !== null && Number.isFinite(value)) flat[`millrace/${name}`] = value
  }
  return flat
}
