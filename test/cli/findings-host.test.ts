/** What doctor says of made-up machines before a run. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type GpuPlace, hostFindings } from '../../src/cli/doctor/findings-host.js'
import { busiest, type HostFacts, hostFacts, runnable, softLimit } from '../../src/cli/doctor/host-facts.js'
import { deviceNode } from '../../src/system/process/gpu-places.js'

const GiB = 2 ** 30

const quiet: HostFacts = {
  look: {
    quota: null,
    throttling: null,
    memoryLimitBytes: 64 * GiB,
    pageCacheBytes: GiB,
  } as HostFacts['look'],
  signals: {
    ...{ seconds: 1, allowed: 8, coreBusy: Array(8).fill(0), otherCores: 0.2, throttled: null },
    psi: { cpu: 0.01, io: 0, memory: 0 },
  } as unknown as HostFacts['signals'],
  busiest: [],
  runnable: 2,
  headroom: { bytes: 40 * GiB, name: 'memory.max' },
  memlock: Infinity,
  processes: Infinity,
  governors: [],
  allowedCores: [0, 1, 2, 3, 4, 5, 6, 7],
  allowedNodes: [0, 1],
  nodes: [
    { node: 0, cores: [0, 1, 2, 3] },
    { node: 1, cores: [4, 5, 6, 7] },
  ],
}

function finding(what: string, more: Partial<HostFacts> = {}, gpus: GpuPlace[] = []) {
  return hostFindings({ ...quiet, ...more }, gpus).find(finding => finding.what === what)
}

test('a quiet machine has no remarks', () => {
  const gpus = [{ index: 0, node: 1, cores: [4, 5, 6, 7] }]
  expect(hostFindings(quiet, gpus).filter(({ verdict }) => verdict !== 'ok')).toEqual([])
})

describe('quota', () => {
  const look = (throttled: number) => ({
    look: {
      ...{ ...quiet.look, quota: 2.5 },
      throttling: [
        { periods: 0, throttled: 0, ms: 0, usedMs: null },
        { periods: 100, throttled, ms: 0, usedMs: null },
      ],
    },
  })

  test('that was never used up', () => {
    expect(finding('CPU quota', look(1))).toMatchObject({
      verdict: 'ok',
      is: expect.stringContaining('2.5 cores'),
    })
  })

  test('that throttles, so far or now', () => {
    expect(finding('CPU quota', look(30))).toMatchObject({
      verdict: 'warn',
      is: '2.5 cores; used up in 30.0 % of its periods so far',
      todo: expect.stringContaining('--workers 1'),
    })
    const now = { ...look(0), signals: { ...quiet.signals, throttled: 0.2 } }
    expect(finding('CPU quota', now)?.verdict).toBe('warn')
  })
})

test('little headroom below the memory limit', () => {
  const headroom = { bytes: 6 * GiB, name: 'memory.max' }
  expect(finding('memory limit', { headroom })).toMatchObject({
    verdict: 'warn',
    is: expect.stringContaining('6.00 GiB of it free'),
  })
  expect(finding('memory limit', { look: { ...quiet.look, memoryLimitBytes: null } })?.is).toBe('not told')
})

test('less than a GiB is little, whatever the limit; the remedy is that of the limit', () => {
  const MiB = 2 ** 20
  const group = { bytes: 25 * MiB, name: '/sys/fs/cgroup/job/memory.max = 41943040' }
  const look = { ...quiet.look, memoryLimitBytes: 40 * MiB }
  expect(finding('memory limit', { look, headroom: group })).toMatchObject({
    verdict: 'warn',
    todo: expect.stringContaining('docker --memory'),
  })
  const space = { bytes: 500 * MiB, name: 'address space (`ulimit -v`)' }
  const found = finding('memory limit', { headroom: space })
  expect(found).toMatchObject({ verdict: 'warn', todo: expect.stringContaining('ulimit -v unlimited') })
  expect(found?.is).toBe(
    '64.0 GiB, 500 MiB free by address space (`ulimit -v`), 1.00 GiB of files in the page cache',
  )
  expect(found?.todo).not.toContain('docker')
  const machine = { bytes: 500 * MiB, name: 'memory of the machine (MemAvailable)' }
  expect(finding('memory limit', { headroom: machine })?.todo).not.toMatch(/docker|ulimit/)
})

test('limits of processes and of locked memory', () => {
  expect(finding('processes', { processes: 512 })).toMatchObject({
    verdict: 'warn',
    todo: expect.stringContaining('ulimit -u'),
  })
  expect(finding('processes', { processes: 4096 })?.verdict).toBe('ok')
  expect(finding('locked memory', { memlock: 65536 })).toBeUndefined() // no GPU
  const gpu = [{ index: 0, node: 0, cores: [0] }]
  expect(finding('locked memory', { memlock: 65536 }, gpu)).toMatchObject({
    verdict: 'warn',
    todo: expect.stringContaining('ulimit -l'),
  })
})

describe('NUMA', () => {
  const gpu = [{ index: 3, node: 1, cores: [4, 5, 6, 7] }]

  test('cores of another node', () => {
    expect(finding('near GPU 3', { allowedCores: [0, 1] }, gpu)).toMatchObject({
      verdict: 'warn',
      todo: expect.stringContaining('numactl --cpunodebind=1 --membind=1'),
    })
  })

  test('memory of another node', () => {
    expect(finding('near GPU 3', { allowedNodes: [0] }, gpu)).toMatchObject({
      verdict: 'warn',
      is: expect.stringContaining('memory is not allowed'),
    })
  })

  test('cores of both', () => {
    expect(finding('near GPU 3', {}, gpu)?.is).toBe(
      '4 of 8 allowed cores at its NUMA node 1 (numactl --cpunodebind=1 --membind=1 keeps to them)',
    )
  })
})

test('governors: powersave is a brake, but not where the driver chooses itself', () => {
  const of = (governor: string, driver: string) =>
    finding('CPU governor', { governors: [{ governor, driver }] })
  expect(of('powersave', 'acpi-cpufreq')).toMatchObject({
    verdict: 'warn',
    todo: expect.stringContaining('cpupower'),
  })
  expect(of('powersave', 'intel_pstate')?.verdict).toBe('ok')
  expect(of('performance', 'acpi-cpufreq')?.verdict).toBe('ok')
})

test('other processes on our cores, and tasks that queue', () => {
  const busy = [{ pid: 7, name: 'ffmpeg', cores: 3.5 }]
  expect(
    finding('other processes', { signals: { ...quiet.signals, otherCores: 3.6 }, busiest: busy }),
  ).toMatchObject({
    verdict: 'warn',
    is: '3.6 of 8 allowed cores busy, 2 tasks running or waiting: ffmpeg (7) 3.5',
    todo: expect.stringContaining('4 cores'),
  })
  const all = (allowed: number) =>
    finding('other processes', { signals: { ...quiet.signals, allowed, otherCores: allowed } })?.todo
  expect(all(1)).toContain('the only core is not free')
  expect(all(2)).toContain('no core is free')
  expect(finding('other processes', { runnable: 18 })?.verdict).toBe('warn')
  expect(finding('other processes', { runnable: 16 })?.verdict).toBe('ok')
})

test('pressure', () => {
  const psi = (memory: number | null) => ({
    signals: { ...quiet.signals, psi: { cpu: 0, io: null, memory } },
  })
  expect(finding('pressure', psi(0.06))).toMatchObject({
    verdict: 'warn',
    todo: expect.stringContaining('memory is short'),
  })
  expect(finding('pressure', psi(0.04))).toMatchObject({
    verdict: 'ok',
    is: 'tasks waited 0.0 % for cpu, 4.0 % for memory',
  })
  const none = { signals: { ...quiet.signals, psi: { cpu: null, io: null, memory: null } } }
  expect(finding('pressure', none)?.is).toContain('no PSI')
})

describe('facts', () => {
  test('from texts', () => {
    expect(runnable('0.20 0.18 0.12 3/80 11206')).toBe(3)
    expect(runnable('')).toBeNull()
    const limits =
      'Limit   Soft Limit  Hard Limit  Units\nMax processes   512   1024  processes\nMax locked memory  unlimited  unlimited  bytes'
    expect(softLimit(limits, 'Max processes')).toBe(512)
    expect(softLimit(limits, 'Max locked memory')).toBe(Infinity)
    expect(softLimit('', 'Max processes')).toBeNull()
  })

  test('the busiest processes: this one apart, and a pid that came back is another process', () => {
    const process = (ticks: number, started = 1) => ({ ticks, started, name: 'x' })
    const before = new Map([
      [1, process(100)],
      [2, process(100)],
      [3, process(500)],
    ])
    const after = new Map([
      [1, process(300)],
      [2, process(105)],
      [3, process(40, 9)],
      [4, process(900)],
    ])
    expect(busiest(before, after, 1, 4)).toEqual([
      { pid: 1, name: 'x', cores: 2 },
      { pid: 3, name: 'x', cores: 0.4 },
    ])
  })

  test('from the files of a machine', async () => {
    const root = mkdtempSync(join(tmpdir(), 'millrace-doctor-'))
    const files = {
      '/proc/loadavg': '0.20 0.18 0.12 3/80 11206',
      '/proc/self/status': 'Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n',
      '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor': 'powersave\n',
      '/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor': 'powersave\n',
      '/sys/devices/system/node/node0/cpulist': '0-3\n',
      '/sys/bus/pci/devices/0000:1a:00.0/numa_node': '0\n',
      '/sys/bus/pci/devices/0000:1a:00.0/local_cpulist': '0-3\n',
      '/sys/bus/pci/devices/0000:1b:00.0/numa_node': '-1\n',
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    expect(await hostFacts(1, root)).toMatchObject({
      runnable: 3,
      governors: [{ governor: 'powersave', driver: '' }],
      allowedCores: [0, 1],
      allowedNodes: [0],
      nodes: [{ node: 0, cores: [0, 1, 2, 3] }],
    })
    expect(deviceNode('00000000:1A:00.0', root)).toEqual({ node: 0, cores: [0, 1, 2, 3] })
    expect(deviceNode('00000000:1B:00.0', root)).toBeNull()
    expect(deviceNode('', root)).toBeNull()
    rmSync(root, { recursive: true })
  })
})
