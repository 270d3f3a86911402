/**
 * Texts of /proc and of control groups as numbers. Pure functions: what a kernel does not write, or writes in a way that is
 * not known, is null or left out, and no text makes them throw.
 */

/** Ticks of the times in /proc a second: what every Linux of today shows to programs. */
export const TICKS = 100

/** Time of one core, in ticks since boot. */
export interface CoreTicks {
  core: number
  busy: number
  idle: number
}

/** A whole number that is not negative; null otherwise. */
function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}

/** `/proc/stat`: time of each core. Waiting for a disk is idle; what the host of a virtual machine took away is busy. */
export function parseStat(text: string): CoreTicks[] {
  return text.split('\n').flatMap(line => {
    const core = /^cpu(\d+) (.*)$/.exec(line)
    if (core === null) return []
    const ticks = core[2].trim().split(/\s+/).map(whole)
    if (ticks.length < 4 || ticks.some(n => n === null)) return []
    // user nice system idle iowait irq softirq steal; guests, which follow, are within user and nice.
    const [user, nice, system, idle, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks as number[]
    return [
      { core: Number(core[1]), busy: user + nice + system + irq + softirq + steal, idle: idle + iowait },
    ]
  })
}

/** What is used of `/proc/PID/stat`, or of a thread's. */
export interface ProcessStat {
  state: string
  parent: number
  /** Ticks of CPU time, of threads that have ended, too. */
  ticks: number
  threads: number
  /** Ticks since boot: together with the pid, this names a process for good. */
  started: number
}

export function parseProcessStat(text: string): ProcessStat | null {
  // The name, in parentheses, may hold anything: the fields after the last one are safe to split.
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/)
  const [parent, user, system, threads, started] = [1, 11, 12, 17, 19].map(at => whole(fields[at]))
  if (parent === null || user === null || system === null || threads === null || started === null) return null
  return { state: fields[0], parent, ticks: user + system, threads, started }
}

/** `schedstat` of a thread: ms of CPU time. */
export function parseSchedstat(text: string): number | null {
  return msOf(text.trim().split(/\s+/)[0])
}

/** The same: ms that it waited for a core. */
export function parseRunDelay(text: string): number | null {
  return msOf(text.trim().split(/\s+/)[1])
}

function msOf(ns: string | undefined): number | null {
  const count = whole(ns)
  return count === null ? null : count / 1e6
}

/** A pressure file (PSI): ms in which some task waited, since boot. */
export function parsePressure(text: string): number | null {
  const us = /^some .*\btotal=(\d+)/m.exec(text)?.[1]
  return us === undefined ? null : Number(us) / 1000
}

/** Lines of a name and a number: `nr_periods 12`, `rchar: 345`, `Cached:   678 kB` (then in bytes). */
export function parseKeyed(text: string): Map<string, number> {
  const values = new Map<string, number>()
  for (const [, name, value, kib] of text.matchAll(/^([^\s:]+):?[ \t]+(\d+)( kB)?[ \t]*$/gm))
    values.set(name, Number(value) * (kib === undefined ? 1 : 1024))
  return values
}

/** Cores that a quota amounts to, perhaps a fraction; null where there is none. Version 2: `cpu.max`; 1: two files. */
export function parseQuota(most: string | undefined, period?: string): number | null {
  const [quota, every = period ?? '100000'] = (most ?? '').trim().split(/\s+/)
  const cores = Number(whole(quota) ?? 0) / Number(whole(every.trim()) ?? 0)
  return Number.isFinite(cores) && cores > 0 ? cores : null
}

/** How often, and for how long (ms, over all cores), a control group was throttled: `cpu.stat` of both versions. */
export interface Throttling {
  periods: number
  throttled: number
  ms: number
  /** CPU time of the group (ms), where the file has it. */
  usedMs: number | null
}

export function parseCpuStat(text: string): Throttling | null {
  const values = parseKeyed(text)
  const [periods, throttled] = [values.get('nr_periods'), values.get('nr_throttled')]
  const us = values.get('throttled_usec')
  const ns = values.get('throttled_time')
  const used = values.get('usage_usec')
  const usedMs = used === undefined ? null : used / 1000
  if (periods === undefined || throttled === undefined) return null
  return { periods, throttled, ms: us !== undefined ? us / 1000 : (ns ?? 0) / 1e6, usedMs }
}
