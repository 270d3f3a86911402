/** What `doctor` makes of the machine before a run: quotas, limits, places, and who else is at work. Pure. */
import { bytes, count, counted, percent } from '../units.js'
import type { Finding } from './finding.js'
import type { HostFacts } from './host-facts.js'

/** A control group that was throttled in this share of its periods loses time. */
const THROTTLED = 0.05
/** Others that keep this share of the allowed cores busy are worth a remark. */
const CROWDED = 0.25
/** Runnable tasks for each allowed core. */
const RUNNABLE = 2
/** PSI from which on a remark is made, by what is waited for. */
const PRESSURE = { cpu: 0.25, io: 0.25, memory: 0.05 } as const
/** Less of the memory limit left than this is little. */
const HEADROOM = 0.1
/** And less than this: a few batches of images, the index and the rest. */
export const ENOUGH_MEMORY = 1 << 30
const ENOUGH_PROCESSES = 1024
/** Drivers that choose the clock themselves: their "powersave" is the usual setting, and no brake. */
const OWN_CHOICE = /^(intel_pstate|amd-pstate-epp|amd_pstate_epp)$/

/** A GPU, and what is next to it. */
export interface GpuPlace {
  index: number
  node: number
  cores: number[]
}

export function hostFindings(facts: HostFacts, gpus: readonly GpuPlace[] = []): Finding[] {
  return [
    quota(facts),
    memoryLimit(facts),
    processes(facts),
    ...(gpus.length > 0 ? [memlock(facts)] : []),
    ...gpus.map(gpu => nearGpu(facts, gpu)),
    governor(facts),
    others(facts),
    pressure(facts),
  ]
}

function quota({ look: { quota, throttling }, signals }: HostFacts): Finding {
  const what = 'CPU quota'
  // Of the group that was throttled most.
  const worst = (throttling ?? []).reduce(
    (most, now) => (now.throttled * most.periods > most.throttled * now.periods ? now : most),
    { periods: 1, throttled: 0, ms: 0 },
  )
  const share = worst.throttled / worst.periods
  const data = { quota, throttledShare: share, throttledNow: signals.throttled }
  if (quota === null) return { what, verdict: 'ok', is: 'none: all allowed cores can be used in full', data }
  const cores = Number(quota.toFixed(2))
  const is = `${cores} cores; used up in ${percent(share)} of its periods so far`
  if (share < THROTTLED && (signals.throttled ?? 0) < THROTTLED) return { what, verdict: 'ok', is, data }
  const workers = Math.max(1, Math.floor(quota) - 1)
  const todo = `threads stand still until the next period: raise the quota (docker --cpus, limits.cpu of Kubernetes), or take --workers ${workers}`
  return { what, verdict: 'warn', is, todo, data }
}

function memoryLimit({ look: { memoryLimitBytes: limit, pageCacheBytes }, headroom }: HostFacts): Finding {
  const what = 'memory limit'
  if (limit === null) return { what, verdict: 'ok', is: 'not told' }
  const cache = pageCacheBytes === null ? '' : `, ${bytes(pageCacheBytes)} of files in the page cache`
  const free = isAddressSpace(headroom.name)
    ? `${bytes(headroom.bytes)} free by ${headroom.name}`
    : `${bytes(headroom.bytes)} of it free`
  const is = `${bytes(limit)}, ${free}${cache}`
  const data = { limit, free: headroom.bytes, by: headroom.name, pageCacheBytes }
  if (headroom.bytes >= Math.max(HEADROOM * limit, ENOUGH_MEMORY)) return { what, verdict: 'ok', is, data }
  return { what, verdict: 'warn', is, todo: moreMemory(headroom.name), data }
}

/** What to do about a limit of memory, by its name. */
export function moreMemory(limit: string): string {
  if (isAddressSpace(limit))
    return 'it is no memory, but Node reserves tens of GiB of it: ulimit -v unlimited'
  if (/memory\.(max|high|limit_in_bytes)/.test(limit))
    return 'use small batches and little depth, end what else needs memory, or raise the limit (docker --memory, limits.memory of Kubernetes)'
  return 'use small batches and little depth, or end what else needs memory'
}

function isAddressSpace(limit: string): boolean {
  return limit.includes('ulimit -v')
}

function processes({ processes: limit }: HostFacts): Finding {
  const what = 'processes'
  if (limit === null) return { what, verdict: 'ok', is: 'limit not told' }
  if (!Number.isFinite(limit)) return { what, verdict: 'ok', is: 'no limit of processes and threads' }
  const is = `${count(limit)} processes and threads at once`
  if (limit >= ENOUGH_PROCESSES) return { what, verdict: 'ok', is }
  return {
    what,
    verdict: 'warn',
    is,
    todo: `ulimit -u ${4 * ENOUGH_PROCESSES}: workers and frameworks start many threads`,
  }
}

function memlock({ memlock: limit }: HostFacts): Finding {
  const what = 'locked memory'
  if (limit === null || !Number.isFinite(limit)) return { what, verdict: 'ok', is: 'no limit' }
  const is = `${bytes(limit)} (CUDA's own pinned memory does not count)`
  if (limit >= 64 << 20) return { what, verdict: 'ok', is }
  return { what, verdict: 'warn', is, todo: 'ulimit -l unlimited, where NCCL uses InfiniBand' }
}

function nearGpu(
  { allowedCores, allowedNodes, nodes }: HostFacts,
  { index, node, cores }: GpuPlace,
): Finding {
  const what = `near GPU ${index}`
  const near = allowedCores.filter(core => cores.includes(core)).length
  const data = { node, near, allowed: allowedCores.length, allowedNodes }
  const bind = `numactl --cpunodebind=${node} --membind=${node}`
  if (near === 0)
    return {
      what,
      verdict: 'warn',
      is: `it is at NUMA node ${node}, and none of the allowed cores is`,
      todo: `copies cross the link between nodes: start with ${bind}, or give the job cores of that node`,
      data,
    }
  if (allowedNodes.length > 0 && !allowedNodes.includes(node))
    return {
      what,
      verdict: 'warn',
      is: `it is at NUMA node ${node}, whose memory is not allowed`,
      todo: `allow memory of node ${node} (cpuset.mems of the control group, numactl --membind)`,
      data,
    }
  const is = `${near} of ${counted(allowedCores.length, 'allowed core')} at its NUMA node ${node}`
  const spread = nodes.length > 1 && near < allowedCores.length
  return { what, verdict: 'ok', is: spread ? `${is} (${bind} keeps to them)` : is, data }
}

function governor({ governors }: HostFacts): Finding {
  const what = 'CPU governor'
  if (governors.length === 0) return { what, verdict: 'ok', is: 'not told (as in virtual machines)' }
  const is = governors
    .map(({ governor, driver }) => (driver ? `${governor} (${driver})` : governor))
    .join(', ')
  const slow = governors.some(
    ({ governor, driver }) =>
      (governor === 'powersave' && !OWN_CHOICE.test(driver)) || governor === 'userspace',
  )
  if (!slow) return { what, verdict: 'ok', is }
  return {
    what,
    verdict: 'warn',
    is,
    todo: 'cores are kept slow: sudo cpupower frequency-set -g performance',
  }
}

function others({ signals, busiest, runnable }: HostFacts): Finding {
  const what = 'other processes'
  const { allowed, otherCores } = signals
  const names = busiest.map(({ name, pid, cores }) => `${name} (${pid}) ${cores.toFixed(1)}`).join(', ')
  const queue = runnable === null ? '' : `, ${counted(runnable, 'task')} running or waiting`
  const is = `${otherCores.toFixed(1)} of ${counted(allowed, 'allowed core')} busy${queue}${names && `: ${names}`}`
  const data = { otherCores, allowed, runnable, busiest }
  const crowded = otherCores >= CROWDED * allowed
  const queued = runnable !== null && runnable > RUNNABLE * Math.max(1, signals.coreBusy.length) + 1
  if (allowed === 0 || !(crowded || queued)) return { what, verdict: 'ok', is, data }
  const left = Math.floor(allowed - otherCores)
  const rest =
    left > 0
      ? `count on ${counted(left, 'core')}`
      : `wait until they are done: ${allowed > 1 ? 'no core is' : 'the only core is not'} free`
  return {
    what,
    verdict: 'warn',
    is,
    todo: `cores are short: end them, or ${rest}`,
    data,
  }
}

function pressure({ signals: { psi } }: HostFacts): Finding {
  const what = 'pressure'
  const known = (['cpu', 'io', 'memory'] as const).flatMap(name => {
    const share = psi[name]
    return share === null ? [] : [{ name, share }]
  })
  if (known.length === 0) return { what, verdict: 'ok', is: 'not told (no PSI in this kernel)' }
  const is = `tasks waited ${known.map(({ name, share }) => `${percent(share)} for ${name}`).join(', ')}`
  const high = known.filter(({ name, share }) => share >= PRESSURE[name]).map(({ name }) => name)
  if (high.length === 0) return { what, verdict: 'ok', is, data: psi }
  const advice = {
    memory: 'memory is short: smaller batches, less depth, fewer workers',
    cpu: 'more wants to run than there are cores',
    io: 'the storage is busy: millrace probe says how fast it is',
  }
  return { what, verdict: 'warn', is, todo: high.map(name => advice[name]).join('; '), data: psi }
}
