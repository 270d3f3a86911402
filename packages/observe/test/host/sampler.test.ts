/** Looks at made-up machines, each a folder with the files that such a machine has, and at this one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Nvml } from '../../../core/system/nvml/nvml.js'
import { GpuSampler } from '../../host/gpu.js'
import type { HostLook } from '../../host/look.js'
import { HostSampler } from '../../host/sampler.js'

const made: string[] = []
afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true })
})

type Files = Record<string, string>

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

/** Signals between two states of a machine, a second apart. The second state is written over the first. */
function signals(before: Files, after: Files, pids: { engine?: number | number[]; trainer?: number } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-host-'))
  made.push(root)
  let now = 5000
  write(root, before)
  const host = new HostSampler({ engine: 10, ...pids, root, now: () => now })
  const first = host.look()
  write(root, after)
  now += 1000
  const plain = JSON.parse(JSON.stringify(host.look())) as HostLook
  return host.between(first, plain)
}

/** `busy` and `idle` ticks of each core. */
const stat = (...cores: [number, number][]) => ({
  '/proc/stat': `cpu 0 0 0 0\n${cores.map(([busy, idle], i) => `cpu${i} ${busy} 0 0 ${idle} 0 0 0 0`).join('\n')}\n`,
})

function processOf(pid: number, ticks: number, more: Files = {}, cores = '0-3'): Files {
  const files: Files = {
    stat: `${pid} (node) S 1 1 1 0 -1 0 0 0 0 0 ${ticks} 0 0 0 20 0 1 0 ${pid}00 0`,
    status: `Name:\tnode\nCpus_allowed_list:\t${cores}\nVmRSS:\t  300 kB\nRssAnon:\t  100 kB\nRssFile:\t   150 kB\nRssShmem:\t   50 kB\n`,
    [`task/${pid}/comm`]: 'node\n',
    ...more,
  }
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [`/proc/${pid}/${name}`, text]))
}

const cgroup2 = {
  '/proc/10/cgroup': '0::/job',
  '/proc/self/mountinfo': '30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
}

describe('cores', () => {
  test('others are what is busy on allowed cores and not ours', () => {
    const before = { ...stat([0, 0], [0, 0], [0, 0], [0, 0]), ...processOf(10, 0), ...processOf(20, 0) }
    const after = {
      ...stat([100, 0], [80, 20], [70, 30], [0, 100]),
      ...processOf(10, 120),
      ...processOf(20, 50),
    }
    const found = signals(before, after, { trainer: 20 })
    expect(found.coreBusy).toEqual([1, 0.8, 0.7, 0])
    expect(found).toMatchObject({ seconds: 1, allowed: 4, engineCores: 1.2, trainerCores: 0.5 })
    expect(found.otherCores).toBeCloseTo(0.8)
    expect(found.idleCores).toBeCloseTo(1.5)
  })

  test('those outside of the affinity mask are not looked at', () => {
    const before = { ...stat([0, 0], [0, 0]), ...processOf(10, 0, {}, '1') }
    const after = { ...stat([100, 0], [25, 75]), ...processOf(10, 25, {}, '1') }
    expect(signals(before, after)).toMatchObject({
      allowed: 1,
      coreBusy: [0.25],
      otherCores: 0,
      idleCores: 0.75,
    })
  })

  test('a trainer on cores of its own takes none from the engine', () => {
    const state = (ticks: number) => ({ ...processOf(10, 0, {}, '0'), ...processOf(20, ticks, {}, '1') })
    const found = signals(
      { ...stat([0, 0], [0, 0]), ...state(0) },
      { ...stat([60, 40], [100, 0]), ...state(100) },
      { trainer: 20 },
    )
    expect(found).toMatchObject({ allowed: 1, trainerCores: 0, otherCores: 0.6 })
  })

  test('others use the cores first that a quota keeps from us; those in our group use the quota', () => {
    const group = (used: number) => ({
      '/sys/fs/cgroup/job/cpu.max': '150000 100000',
      '/sys/fs/cgroup/job/cpu.stat': `usage_usec ${used}\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0`,
    })
    const idle = { ...stat([0, 0], [0, 0], [0, 0], [0, 0]), ...cgroup2, ...processOf(10, 0) }
    const busy = { ...stat([100, 0], [100, 0], [0, 100], [0, 100]), ...processOf(10, 50) }
    expect(signals({ ...idle, ...group(0) }, { ...busy, ...group(500_000) })).toMatchObject({
      allowed: 1.5,
      otherCores: 0,
      idleCores: 1,
    })
    expect(signals({ ...idle, ...group(0) }, { ...busy, ...group(1_200_000) }).otherCores).toBeCloseTo(0.7)
  })

  test('a core whose idle time runs backwards is no reason to fail', () => {
    const found = signals(
      { ...stat([10, 90]), ...processOf(10, 0) },
      { ...stat([20, 80]), ...processOf(10, 0) },
    )
    expect(found.coreBusy).toEqual([1])
  })
})

describe('processes', () => {
  const children = (tid: number, pids: string) => ({ [`task/${tid}/children`]: `${pids} ` })

  test('those below the trainer are the trainer’s, those below the engine the engine’s', () => {
    const tree = (t: number) => ({
      ...stat([0, 0]),
      ...processOf(20, t, children(20, '10 21')),
      ...processOf(21, 2 * t), // a worker of a DataLoader
      ...processOf(10, 4 * t, children(10, '11')), // the engine, which the trainer has started
      ...processOf(11, 8 * t),
    })
    const found = signals(tree(0), tree(5), { trainer: 20 })
    expect(found.trainerCores).toBeCloseTo(0.15)
    expect(found.engineCores).toBeCloseTo(0.6)
  })

  test('makers may be processes', () => {
    const tree = (t: number) => ({
      ...stat([0, 0]),
      ...processOf(20, t, children(20, '21 22')),
      ...processOf(21, 2 * t),
      ...processOf(22, 2 * t),
    })
    const found = signals(tree(0), tree(10), { engine: [21, 22], trainer: 20 })
    expect(found.engineCores).toBeCloseTo(0.4)
    expect(found.trainerCores).toBeCloseTo(0.1)
  })

  test('in one process, makers are threads by their names', () => {
    const one = (maker: number, all: number) => ({
      ...stat([0, 0]),
      ...processOf(10, all, {
        'task/12/comm': 'millrace w0\n',
        'task/12/schedstat': `${maker * 1e6} 5 1\n`,
        'task/13/comm': 'node\n',
        'task/13/schedstat': '77000000 5 1\n',
        ...children(12, '30'),
        ...children(13, '31'),
      }),
      ...processOf(30, all),
      ...processOf(31, all),
    })
    const found = signals(one(0, 0), one(250, 60))
    expect(found.engineCores).toBeCloseTo(0.25 + 0.6)
    expect(found.trainerCores).toBeCloseTo(0.35 + 0.6)
  })

  test('what a process had used stays counted after its end', () => {
    const root = mkdtempSync(join(tmpdir(), 'millrace-host-'))
    made.push(root)
    let now = 0
    write(root, { ...stat([0, 0]), ...processOf(10, 0, children(10, '11')), ...processOf(11, 300) })
    const host = new HostSampler({ engine: 10, trainer: 20, root, now: () => now })
    const first = host.look()
    rmSync(join(root, '/proc/11'), { recursive: true })
    now = 2000
    expect(host.look().engineMs).toBe(first.engineMs)
    expect(first.engineMs).toBe(3000)
  })

  test('memory that they may share is counted once; reads are the engine’s', () => {
    const io = (n: number) => ({ io: `rchar: ${n * 10}\nread_bytes: ${n}\n` })
    const state = (n: number) => ({
      ...stat([0, 0]),
      ...processOf(10, 0, io(n)),
      ...processOf(20, 0, io(7 * n)),
    })
    expect(signals(state(0), state(100), { trainer: 20 })).toMatchObject({
      rssBytes: (100 + 100 + 200) * 1024,
      diskBytes: 100,
      readBytes: 1000,
    })
  })
})

describe('control groups and pressure', () => {
  const v2 = (n: number) => ({
    ...stat([0, 0]),
    ...cgroup2,
    ...processOf(10, 0),
    '/sys/fs/cgroup/job/cpu.max': '100000 100000',
    '/sys/fs/cgroup/job/cpu.stat': `usage_usec 0\nnr_periods ${n}\nnr_throttled ${n / 2}\nthrottled_usec ${n * 20_000}`,
    '/sys/fs/cgroup/job/cpu.pressure': `some avg10=0 avg60=0 avg300=0 total=${n * 30_000}`,
    '/sys/fs/cgroup/job/memory.max': '1000000',
    '/sys/fs/cgroup/memory.max': '500000',
    '/sys/fs/cgroup/job/memory.stat': 'anon 1\nfile 3000\nshmem 1000\n',
    '/proc/pressure/cpu': 'some avg10=0 avg60=0 avg300=0 total=0',
    '/proc/pressure/io': `some avg10=0 avg60=0 avg300=0 total=${n * 1000}`,
    '/proc/meminfo': 'MemTotal: 1024 kB\nCached: 99 kB\nShmem: 9 kB\n',
  })

  test('version 2, the machine where the group has no file', () => {
    const found = signals(v2(0), v2(10))
    expect(found.psi).toEqual({ cpu: 0.3, io: 0.01, memory: null })
    expect(found).toMatchObject({ throttled: 0.2, memoryLimitBytes: 500_000, pageCacheBytes: 2000 })
  })

  test('throttled time is a sum over cores: the share of periods bounds it', () => {
    const after = v2(10)
    after['/sys/fs/cgroup/job/cpu.stat'] = 'nr_periods 10\nnr_throttled 5\nthrottled_usec 3000000'
    expect(signals(v2(0), after).throttled).toBe(0.5)
  })

  test('version 1', () => {
    const state = (n: number) => ({
      ...stat([0, 0]),
      ...processOf(10, 0),
      '/proc/10/cgroup': '5:memory:/a\n4:cpu,cpuacct:/a',
      '/proc/self/mountinfo':
        '32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory',
      '/cg/cpu/a/cpu.cfs_quota_us': '50000',
      '/cg/cpu/a/cpu.cfs_period_us': '100000',
      '/cg/cpu/a/cpu.stat': `nr_periods ${n}\nnr_throttled ${n}\nthrottled_time ${n * 40_000_000}`,
      '/cg/memory/a/memory.limit_in_bytes': '9223372036854771712',
      '/cg/memory/memory.limit_in_bytes': '9223372036854771712',
      '/cg/memory/a/memory.stat': 'cache 1\ntotal_cache 5000\ntotal_shmem 1000\n',
      '/proc/meminfo': 'MemTotal: 1024 kB\n',
    })
    expect(signals(state(0), state(10))).toMatchObject({
      allowed: 0.5,
      throttled: 0.4,
      memoryLimitBytes: 1024 * 1024,
      pageCacheBytes: 4000,
    })
  })

  test('files that were read again: of the group where it says so, else of the machine', () => {
    const pages = (group: number, machine: number): Files => ({
      ...cgroup2,
      '/sys/fs/cgroup/job/memory.stat': `file 100\nworkingset_refault_file ${group}`,
      '/proc/vmstat': `workingset_refault_file ${machine}`,
    })
    expect(signals(pages(5, 100), pages(25, 900)).refaultBytes).toBe(20 * 4096)
    const one = (count: number): Files => ({
      '/proc/10/cgroup': '4:memory:/job',
      '/proc/self/mountinfo': '30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
      '/sys/fs/cgroup/memory/job/memory.stat': `workingset_refault_file 1\ntotal_workingset_refault_file ${count}`,
    })
    expect(signals(one(5), one(8)).refaultBytes).toBe(3 * 4096)
    const machine = (count: number): Files => ({ '/proc/vmstat': `workingset_refault_file ${count}\n` })
    expect(signals(machine(1), machine(2)).refaultBytes).toBe(4096)
  })

  test('how long the trainer’s thread waited for a core', () => {
    const waited = (ms: number): Files => ({
      ...stat([0, 0]),
      ...processOf(10, 0, { 'task/10/schedstat': '5000000000 900000000000 4' }),
      ...processOf(20, 0, { 'task/20/schedstat': `1000000 ${ms * 1e6} 3` }),
    })
    expect(signals(waited(100), waited(350), { trainer: 20 }).trainerDelay).toBeCloseTo(0.25)
  })

  test('an empty machine: nothing is known, and nothing is invented', () => {
    expect(signals({}, {})).toEqual({
      seconds: 1,
      allowed: 0,
      coreBusy: [],
      idleCores: 0,
      engineCores: 0,
      trainerCores: 0,
      otherCores: 0,
      trainerDelay: null,
      psi: { cpu: null, io: null, memory: null },
      throttled: null,
      rssBytes: 0,
      pageCacheBytes: null,
      memoryLimitBytes: null,
      refaultBytes: null,
      diskBytes: null,
      readBytes: null,
    })
  })
})

describe('GPU', () => {
  const nvml = (percent: () => number) =>
    ({
      describe: () => ({ name: 'H200' }),
      read: () => ({ memory: { used: 5 }, watts: Number.NaN, utilization: percent() }),
      close: () => {},
    }) as unknown as Nvml

  test('what is true of a moment is counted for the time since the last look', () => {
    let now = 0
    let percent = 100
    const gpu = new GpuSampler(
      nvml(() => percent),
      0,
      undefined,
      () => now,
    )
    now = 1000
    expect(gpu.look()?.hasWork).toEqual({ seconds: 1, active: 1 })
    ;[now, percent] = [4000, 50]
    expect(gpu.look()).toEqual({
      name: 'H200',
      memoryBytes: 5,
      watts: null,
      smActive: null,
      hasWork: { seconds: 4, active: 2.5 },
    })
  })

  test('with GPM, counters of the whole time; a look that comes too soon adds nothing', () => {
    const readings = [{ seconds: 2, engines: 90, sm: 20 }, undefined, { seconds: 2, engines: 50, sm: 40 }]
    const gpm = { read: () => readings.shift(), close: () => {} }
    const gpu = new GpuSampler(
      nvml(() => 7),
      0,
      gpm,
      () => 0,
    )
    const looks = [gpu.look(), gpu.look(), gpu.look()]
    expect(looks.map(look => look?.smActive?.seconds)).toEqual([2, 2, 4])
    expect(looks[2]?.smActive?.active).toBeCloseTo(1.2)
    expect(looks[2]?.hasWork?.active).toBeCloseTo(2.8)
  })
})

test('this machine: the sampler sees the work of its own process', () => {
  const host = new HostSampler({ gpu: false })
  const before = host.look()
  const used = () => process.cpuUsage().user + process.cpuUsage().system
  const until = used() + 100_000
  while (used() < until);
  const { allowed, trainerCores, rssBytes, seconds } = host.between(before, host.look())
  host.close()
  expect(allowed).toBeGreaterThan(0)
  expect(trainerCores * seconds).toBeGreaterThan(0.05)
  expect(rssBytes).toBeGreaterThan(10e6)
})
