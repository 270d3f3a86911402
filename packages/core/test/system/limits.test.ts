/** The limits of made-up machines, each a folder with the files such a machine has. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Machine } from '../../system/process/limits.js'
import * as limits from '../../system/process/limits.js'

const made: string[] = []
afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true })
})

/** A machine of 16 cores and 8 GiB of free memory with these files. */
function machine(files: Record<string, string>, visibleGpus?: string): Machine {
  const root = mkdtempSync(join(tmpdir(), 'millrace-machine-'))
  made.push(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), `${text}\n`)
  }
  return { root, cores: 16, freeMemory: 8 * GiB, visibleGpus }
}

const GiB = 2 ** 30
const v2 = (group: string, top = '/') => ({
  '/proc/self/cgroup': `0::${group}`,
  '/proc/self/mountinfo': `22 1 8:1 / / rw - ext4 /dev/sda rw\n30 22 0:26 ${top} /sys/fs/cgroup rw - cgroup2 cgroup2 rw`,
})
const v1 = (group: string, top = '/') => ({
  '/proc/self/cgroup': `5:memory:${group}\n4:cpu,cpuacct:${group}\n1:name=systemd:/elsewhere`,
  '/proc/self/mountinfo': [
    `31 23 0:28 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw`,
    `32 31 0:29 ${top} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct`,
    `33 31 0:30 ${top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory`,
    `34 31 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd`,
  ].join('\n'),
})

describe('usable cores', () => {
  const cores = (files: Record<string, string>) => limits.usableCores(machine(files))

  it('are all where nothing limits them', () => {
    expect(cores({})).toBe(16)
    expect(cores({ ...v2('/'), '/sys/fs/cgroup/cpu.stat': 'usage_usec 1' })).toBe(16)
    expect(cores({ ...v2('/a'), '/sys/fs/cgroup/a/cpu.max': 'max 100000' })).toBe(16)
    expect(cores({ ...v1('/a'), '/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us': '-1' })).toBe(16)
  })

  it('follow the affinity mask', () => {
    expect(
      cores({ '/proc/self/status': 'Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,8,10-11' }),
    ).toBe(6)
    expect(cores({ '/proc/self/status': 'Cpus_allowed_list:\t0-63' })).toBe(16)
    expect(cores({ '/proc/self/status': 'Cpus_allowed_list:\t3' })).toBe(1)
  })

  it('are a fraction where they are not rounded', () => {
    const allowed = (files: Record<string, string>) => limits.allowedCores(machine(files))
    expect(allowed({ ...v2('/job'), '/sys/fs/cgroup/job/cpu.max': '150000 100000' })).toBe(1.5)
    expect(allowed({ ...v1('/a'), '/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us': '50000' })).toBe(0.5)
    expect(allowed({ '/proc/self/status': 'Cpus_allowed_list:\t0-2' })).toBe(3)
  })

  it('follow a quota of version 2, rounded down but never to none', () => {
    expect(cores({ ...v2('/job'), '/sys/fs/cgroup/job/cpu.max': '400000 100000' })).toBe(4)
    expect(cores({ ...v2('/job'), '/sys/fs/cgroup/job/cpu.max': '150000 100000' })).toBe(1)
    expect(cores({ ...v2('/job'), '/sys/fs/cgroup/job/cpu.max': '20000 100000' })).toBe(1)
    expect(cores({ ...v2('/job'), '/sys/fs/cgroup/job/cpu.max': '125000 50000' })).toBe(2)
  })

  it('follow the tightest quota along the path', () => {
    const nested = {
      ...v2('/pods/job/step'),
      '/sys/fs/cgroup/pods/cpu.max': '300000 100000',
      '/sys/fs/cgroup/pods/job/cpu.max': '800000 100000',
      '/sys/fs/cgroup/pods/job/step/cpu.max': 'max 100000',
    }
    expect(cores(nested)).toBe(3)
    expect(cores({ ...nested, '/sys/fs/cgroup/cpu.max': '200000 100000' })).toBe(2)
  })

  it('follow a quota of version 1, also inside a container', () => {
    const files = (folder: string) => ({
      [`/sys/fs/cgroup/cpu,cpuacct${folder}/cpu.cfs_quota_us`]: '500000',
      [`/sys/fs/cgroup/cpu,cpuacct${folder}/cpu.cfs_period_us`]: '100000',
    })
    expect(cores({ ...v1('/docker/3f'), ...files('/docker/3f') })).toBe(5)
    expect(cores({ ...v1('/docker/3f'), ...files('/docker') })).toBe(5)
    // Only the container's own part of the tree is mounted.
    expect(cores({ ...v1('/docker/3f', '/docker/3f'), ...files('') })).toBe(5)
    expect(cores({ ...v1('/docker/3f/x', '/docker/3f'), ...files('/x') })).toBe(5)
    expect(cores({ ...v1('/', '/docker/3f'), ...files('') })).toBe(5)
  })

  it('follow both versions at once, and odd mount points', () => {
    const both = {
      '/proc/self/cgroup': '3:cpu:/one\n0::/two',
      '/proc/self/mountinfo':
        '1 0 0:1 / /mnt/c\\040one rw - cgroup cgroup rw,cpu\n2 0 0:2 / /mnt/two rw shared:3 - cgroup2 none rw',
      '/mnt/c one/one/cpu.cfs_quota_us': '900000',
      '/mnt/c one/one/cpu.cfs_period_us': '100000',
    }
    expect(cores(both)).toBe(9)
    expect(cores({ ...both, '/mnt/two/two/cpu.max': '700000 100000' })).toBe(7)
  })

  it('of this machine are what the runtime says, or fewer', () => {
    expect(limits.usableCores()).toBeGreaterThanOrEqual(1)
    expect(limits.usableCores()).toBeLessThanOrEqual(availableParallelism())
  })
})

describe('workers', () => {
  it('leave a core to the main thread, or two to each trainer, and are at least one', () => {
    expect(limits.autoWorkers(16, 0)).toBe(15)
    expect(limits.autoWorkers(16, 1)).toBe(14)
    expect(limits.autoWorkers(16, 4)).toBe(8)
    expect(limits.autoWorkers(16, 8)).toBe(1)
    expect(limits.autoWorkers(1, 0)).toBe(1)
  })
})

describe('memory', () => {
  const meminfo = { '/proc/meminfo': 'MemTotal: 16777216 kB\nMemAvailable:    4194304 kB' }

  it('is what the machine has left', () => {
    expect(limits.memoryLimit(machine({}))).toEqual({
      bytes: 8 * GiB,
      name: expect.stringContaining('free memory'),
    })
    expect(limits.memoryLimit(machine(meminfo))).toEqual({
      bytes: 4 * GiB,
      name: expect.stringContaining('MemAvailable'),
    })
  })

  it('is less in a control group of version 2, whose page cache gives way', () => {
    const files = {
      ...meminfo,
      ...v2('/pod/job'),
      '/sys/fs/cgroup/pod/memory.max': `${2 * GiB}`,
      '/sys/fs/cgroup/pod/memory.high': 'max',
      '/sys/fs/cgroup/pod/memory.current': `${1.5 * GiB}`,
      '/sys/fs/cgroup/pod/memory.stat': `anon 5\nfile ${GiB}\ninactive_file ${0.75 * GiB}\nactive_file ${0.25 * GiB}`,
      '/sys/fs/cgroup/pod/job/memory.max': 'max',
    }
    expect(limits.memoryLimit(machine(files))).toEqual({
      bytes: 1.5 * GiB,
      name: `/sys/fs/cgroup/pod/memory.max = ${2 * GiB}`,
    })
    const high = { ...files, '/sys/fs/cgroup/pod/memory.high': `${GiB}` }
    expect(limits.memoryLimit(machine(high))).toMatchObject({ bytes: 0.5 * GiB })
    const spent = { ...files, '/sys/fs/cgroup/pod/memory.high': '1000' }
    expect(limits.memoryLimit(machine(spent))).toMatchObject({
      bytes: 0,
      name: expect.stringMatching(/high/),
    })
  })

  it('is less in a control group of version 1', () => {
    const unlimited = {
      ...meminfo,
      ...v1('/a'),
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    }
    expect(limits.memoryLimit(machine(unlimited)).bytes).toBe(4 * GiB)
    const limited = {
      ...unlimited,
      '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': `${GiB}`,
      '/sys/fs/cgroup/memory/a/memory.usage_in_bytes': `${0.75 * GiB}`,
      '/sys/fs/cgroup/memory/a/memory.stat': `inactive_file 7\ntotal_inactive_file ${0.25 * GiB}\ntotal_active_file 0`,
    }
    expect(limits.memoryLimit(machine(limited))).toEqual({
      bytes: 0.5 * GiB,
      name: `/sys/fs/cgroup/memory/a/memory.limit_in_bytes = ${GiB}`,
    })
  })

  it('is less under a limit of the address space', () => {
    const files = {
      ...meminfo,
      '/proc/self/status': 'VmPeak:\t 99 kB\nVmSize:\t 1048576 kB',
      '/proc/self/limits': `Max address space         ${3 * GiB}           unlimited            bytes     `,
    }
    expect(limits.memoryLimit(machine(files))).toEqual({
      bytes: 2 * GiB,
      name: expect.stringContaining('ulimit -v'),
    })
  })

  it('of this machine is something', () => {
    expect(limits.memoryLimit().bytes).toBeGreaterThan(0)
  })
})

describe('file handles', () => {
  it('are limited softly, or not', () => {
    const line = (soft: string) => ({
      '/proc/self/limits': `Limit Soft\nMax open files            ${soft}   4096   files`,
    })
    expect(limits.fileHandleLimit(machine(line('1024')))).toBe(1024)
    expect(limits.fileHandleLimit(machine(line('unlimited')))).toBe(Infinity)
    expect(limits.fileHandleLimit(machine({}))).toBe(Infinity)
    expect(limits.fileHandleLimit()).toBeGreaterThan(10)
  })
})

describe('GPUs', () => {
  const devices = Object.fromEntries(
    ['nvidia0', 'nvidia1', 'nvidiactl', 'nvidia-uvm'].map(n => [`/dev/${n}`, '']),
  )
  const proc = { '/proc/driver/nvidia/gpus/0000:18:00.0/information': 'Model: H200' }

  it('are counted by their device files, else by the driver', () => {
    expect(limits.gpuCount(machine({}))).toBe(0)
    expect(limits.gpuCount(machine(devices))).toBe(2)
    expect(limits.gpuCount(machine(proc))).toBe(1)
    expect(limits.gpuCount(machine({ ...devices, ...proc }))).toBe(2)
  })

  it('are those that CUDA would see', () => {
    const visible = (list: string) => limits.gpuCount(machine(devices, list))
    expect(visible('')).toBe(0)
    expect(visible('-1')).toBe(0)
    expect(visible('1')).toBe(1)
    expect(visible('0, 1')).toBe(2)
    expect(visible('0,7,1')).toBe(1)
    expect(visible('GPU-8932f937,GPU-9a')).toBe(2)
    expect(limits.gpuCount(machine({}, '0,1'))).toBe(0)
    expect(limits.gpuCount(machine({}, 'GPU-8932f937'))).toBe(0)
  })
})
