/**
 * Where this process stands in the control groups, as plain files. A limit may be set at any level between the
 * process and the root, and the tightest one rules, so everything is asked of the whole path.
 *
 * Version 1 has one tree for each controller, version 2 one tree for all; a machine may have both at once. In a
 * container the upper part of a tree is hidden: /proc/self/mountinfo says which part is mounted where.
 */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** One level of a control group tree: a folder with the limits' files in it. */
export interface CgroupLevel {
  version: 1 | 2
  /** Where the folder is, as the process sees it: for messages. */
  path: string
  /** The trimmed text of a file in it; undefined where there is none. */
  read(file: string): string | undefined
}

interface Mount {
  version: 1 | 2
  controllers: string[]
  /** The part of the tree that is mounted, and where. */
  top: string
  point: string
}

/**
 * The levels that rule over a process for a controller, its own group first. `root` is `/`, except in tests. Another
 * process is looked for where this one sees the trees.
 */
export function cgroupLevels(
  controller: 'cpu' | 'cpuset' | 'memory',
  root = '/',
  pid: number | 'self' = 'self',
): CgroupLevel[] {
  const groups = groupsOf(root, pid)
  return mounts(root).flatMap(mount => {
    if (mount.version === 1 && !mount.controllers.includes(controller)) return []
    const group = groups.get(mount.version === 2 ? '' : controller)
    return group === undefined ? [] : upwards(mount, group, root)
  })
}

/** Controller to group path; version 2 under the empty name. Lines look like `4:cpu,cpuacct:/docker/3f2a`. */
function groupsOf(root: string, pid: number | 'self'): Map<string, string> {
  const groups = new Map<string, string>()
  for (const line of lines(root, `/proc/${pid}/cgroup`)) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    for (const controller of controllers?.split(',') ?? []) groups.set(controller, path)
  }
  return groups
}

/** Lines look like `32 31 0:29 /top /mount/point rw - cgroup cgroup rw,cpu`. */
function mounts(root: string): Mount[] {
  return lines(root, '/proc/self/mountinfo').flatMap(line => {
    const [place, kind] = line.split(' - ').map(part => part.split(' '))
    if (kind?.[0] !== 'cgroup' && kind?.[0] !== 'cgroup2') return []
    const version = kind[0] === 'cgroup' ? 1 : 2
    return [
      { version, controllers: kind[2].split(','), top: unescaped(place[3]), point: unescaped(place[4]) },
    ]
  })
}

/** The folders from the process's own group up to the mount point. */
function upwards({ version, top, point }: Mount, group: string, root: string): CgroupLevel[] {
  // A group outside of what is mounted (a container without its own namespace) is seen at the mount point itself.
  const relative = posix.relative(top, group)
  const levels: CgroupLevel[] = []
  for (let below = relative.startsWith('..') ? '' : relative; ; below = posix.dirname(below)) {
    const path = posix.join(point, below)
    levels.push({ version, path, read: file => readText(root, posix.join(path, file)) })
    if (below === '' || below === '.') return levels
  }
}

/** The trimmed text of a file under `root`; undefined where it can't be read. */
export function readText(root: string, path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8').trim()
  } catch {
    return undefined
  }
}

function lines(root: string, path: string): string[] {
  return (readText(root, path) ?? '').split('\n')
}

/** mountinfo writes blanks and the like as octal: `\040`. */
function unescaped(path: string): string {
  return path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}
