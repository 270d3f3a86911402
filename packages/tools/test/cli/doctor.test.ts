/** `millrace doctor`: what it says of made-up machines, and what it refuses. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { deviceNode } from '../../../core/engine/bind/look.js'
import { planBinding } from '../../../core/engine/bind/plan.js'
import { SERVER } from '../../../core/test/engine/bind/machines.js'
import { type Finding, find, findAll } from '../../cli/doctor/check.js'
import { INSTALLATION, MACHINE } from '../../cli/doctor/checks.js'
import { lookAtMachine, type Machine, softLimit } from '../../cli/doctor/machine.js'
import { doctor } from '../../cli/verbs/doctor.js'

const GiB = 2 ** 30
const { topology, gpus } = SERVER
const wanted = { binding: 'auto', workers: 4, near: gpus, trainers: [], keep: 8 } as const

const quiet: Machine = {
  look: {
    quota: null,
    throttling: null,
    memoryLimitBytes: 64 * GiB,
    pageCacheBytes: GiB,
  } as Machine['look'],
  signals: {
    seconds: 1,
    allowed: 8,
    coreBusy: Array(8).fill(0),
    otherCores: 0.2,
    throttled: null,
    psi: { cpu: 0.01, io: 0, memory: 0 },
  } as unknown as Machine['signals'],
  runnable: 2,
  memory: { bytes: 40 * GiB, name: 'memory.max' },
  files: Infinity,
  processes: Infinity,
  locked: Infinity,
  governors: [],
  topology,
  present: topology.length,
  near: gpus,
  plan: planBinding(topology, wanted),
}

async function line(what: string, more: Partial<Machine> = {}): Promise<string> {
  const all: Finding[] = await findAll(MACHINE, { ...quiet, ...more })
  const { verdict, is, todo } = all.find(finding => finding.what === what)!
  return [verdict, is, todo].filter(Boolean).join(' | ')
}

test('a quiet machine has no remarks', async () => {
  const found = await findAll(MACHINE, quiet)
  expect(found.filter(({ verdict }) => verdict !== 'ok')).toEqual([])
  expect(found.map(({ is }) => is)).toContain('no limit')
})

test('this installation has what is needed', async () => {
  const found = await findAll(INSTALLATION, undefined)
  expect(found.filter(({ verdict }) => verdict === 'bad')).toEqual([])
})

test('a look that fails is told with its remedy', async () => {
  const look = () => Promise.reject(new Error('gone\nfar'))
  expect(await find({ what: 'x', needed: true, look, otherwise: 'install it' }, undefined)).toEqual({
    what: 'x',
    verdict: 'bad',
    is: 'gone',
    todo: 'install it',
  })
})

test('cores: what "auto" would do; none at the node of the GPU', async () => {
  expect(await line('cores')).toMatch(
    /^ok \| 64 physical cores, 128 threads, at NUMA node 0, 1; \d+ workers? by default; affinity "auto" would take cores 2-3,34-35, and leave cores 0-1,32-33,64-65,96-97 to the trainer$/,
  )
  const first = topology.filter(core => core.node === 0)
  expect(await line('cores', { topology: first, near: [1] })).toMatch(
    /^warn .* 64 threads of 128 \(affinity.* \| the GPU is at node 1: start with numactl --cpunodebind=1/,
  )
  expect(await line('cores', { topology: [] })).toContain('how they lie is not told')
})

test('a quota that throttles, so far or now', async () => {
  const look = (throttled: number) => ({
    ...quiet.look,
    quota: 2.5,
    throttling: [0, 100].map(periods => ({ periods, throttled: periods && throttled, ms: 0, usedMs: null })),
  })
  expect(await line('CPU quota', { look: look(1) })).toMatch(/^ok \| 2\.5 cores/)
  expect(await line('CPU quota', { look: look(30) })).toMatch(
    /^warn \| 2\.5 cores; used up in 30\.0 % of its periods so far \| .*--workers 1/,
  )
  const signals = { ...quiet.signals, throttled: 0.2 }
  expect(await line('CPU quota', { look: look(0), signals })).toMatch(/^warn/)
})

test('little memory, with the remedy of its limit', async () => {
  expect(await line('memory', { memory: { bytes: 6 * GiB, name: 'memory.max' } })).toMatch(
    /^warn \| 6\.00 GiB free of 64\.0 GiB, by memory\.max, 1\.00 GiB of files .* \| .*docker --memory/,
  )
  const space = { bytes: GiB / 2, name: 'address space (`ulimit -v`)' }
  expect(await line('memory', { memory: space })).toMatch(/^warn .*ulimit -v unlimited$/)
  const look = { ...quiet.look, memoryLimitBytes: null, pageCacheBytes: null }
  expect(await line('memory', { look })).toBe('ok | 40.0 GiB free, by memory.max')
})

test('limits of files, processes and locked memory', async () => {
  expect(await line('file handles', { files: 256 })).toMatch(/^warn \| 256 open at once \| ulimit -n/)
  expect(await line('processes', { processes: 512 })).toMatch(/^warn .*ulimit -u/)
  expect(await line('processes', { processes: null })).toBe('ok | not told')
  expect(await line('locked memory', { locked: 65536 })).toMatch(/^warn .*ulimit -l/)
  expect(await line('locked memory', { locked: 65536, near: [] })).toMatch(/^ok/)
})

test('governors: powersave is a brake, but not where the driver chooses itself', async () => {
  const of = (governor: string) => line('CPU governor', { governors: [governor] })
  expect(await of('powersave acpi-cpufreq')).toMatch(/^warn .*cpupower/)
  expect(await of('powersave')).toMatch(/^warn/)
  for (const fine of ['powersave intel_pstate', 'powersave amd-pstate-epp', 'performance acpi-cpufreq'])
    expect(await of(fine)).toMatch(/^ok/)
})

test('oversubscription: others on our cores, tasks that queue, and pressure', async () => {
  const signals = { ...quiet.signals, otherCores: 3.6 }
  expect(await line('other processes', { signals })).toBe(
    'warn | 3.6 of 8 allowed cores busy, 2 tasks running or waiting | end them (top names them), or count on 4 cores',
  )
  expect(await line('other processes', { runnable: 18 })).toMatch(/^warn/)
  expect(await line('other processes', { runnable: 16 })).toMatch(/^ok/)
  const psi = (memory: number | null) => ({
    signals: { ...quiet.signals, psi: { cpu: 0, io: null, memory } },
  })
  expect(await line('pressure', psi(0.06))).toMatch(/^warn .*memory is short/)
  expect(await line('pressure', psi(0.04))).toBe('ok | tasks waited 0.0 % for cpu, 4.0 % for memory')
  const none = { signals: { ...quiet.signals, psi: { cpu: null, io: null, memory: null } } }
  expect(await line('pressure', none)).toContain('no PSI')
})

test('facts from the files of a machine', async () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-doctor-'))
  const limits = 'Limit   Soft Limit  Hard Limit  Units\nMax processes   512   1024  processes\n'
  const files = {
    '/proc/loadavg': '0.20 0.18 0.12 3/80 11206',
    '/proc/self/limits': `${limits}Max locked memory  unlimited  unlimited  bytes`,
    '/sys/bus/pci/devices/0000:1a:00.0/numa_node': '0\n',
    '/sys/bus/pci/devices/0000:1a:00.0/local_cpulist': '0-3\n',
    '/sys/bus/pci/devices/0000:1b:00.0/numa_node': '-1\n',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  expect(await lookAtMachine(1, root)).toMatchObject({ runnable: 3, processes: 512, locked: Infinity })
  expect(softLimit('', 'Max processes')).toBeNull()
  expect(deviceNode('00000000:1A:00.0', root)).toEqual({ node: 0, cores: [0, 1, 2, 3] })
  expect(deviceNode('00000000:1B:00.0', root)).toBeNull()
  expect(deviceNode('', root)).toBeNull()
  rmSync(root, { recursive: true })
})

test('the cores of this machine are found', async () => {
  const { topology, plan } = await lookAtMachine(1)
  expect(topology.length).toBeGreaterThan(0)
  expect(plan.places.length).toBeGreaterThan(0)
})

test('--seconds without --pid is refused', async () => {
  const run = doctor.run({ args: [], values: { seconds: 2 } } as never)
  await expect(run).rejects.toThrow('--seconds says how long a process is watched: give --pid PID with it')
})
