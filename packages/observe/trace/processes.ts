/** Which processes belong to a run: those that were named, what they started, and the engines and trainers these work with. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { RingInfo } from '../../core/spans/reader.js'
import { readText } from '../../core/system/process/cgroup.js'
import { parseProcessStat } from '../host/parse.js'

/** Whether a process is there. One that ended and is not yet waited for by its parent is not. */
export function isAlive(pid: number): boolean {
  return parentOf(pid) !== undefined
}

/** The processes that were started by these, and by those, in turn. */
export function descendants(pids: ReadonlySet<number>): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = parentOf(Number(name))
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const found: number[] = []
  for (const pid of parents.keys()) {
    let above = parents.get(pid)
    // At most as many steps as there are processes: numbers may be given anew while we look.
    for (let i = 0; i < parents.size && above !== undefined; i++) {
      if (pids.has(above)) {
        found.push(pid)
        break
      }
      above = parents.get(above)
    }
  }
  return found.filter(pid => !pids.has(pid))
}

/** The engines that the rings of a process are filled by. */
export function enginesOf(pid: number, rings: readonly RingInfo[]): number[] {
  return rings.flatMap(({ engine }) => (engine !== 0 && engine !== pid ? [engine] : []))
}

/** `python train.py`: the program and its first argument that is no option, without their folders. */
export function programOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)
    const [program, ...rest] = words
    const first = rest.find(word => !word.startsWith('-'))
    return [program, ...(first === undefined ? [] : [first])]
      .map(word => basename(word))
      .join(' ')
      .slice(0, 80)
  } catch {
    return 'ended'
  }
}

/** The parent of a process; undefined: it has ended. */
function parentOf(pid: number): number | undefined {
  const stat = parseProcessStat(readText('/', `/proc/${pid}/stat`) ?? '')
  return stat === null || stat.state === 'Z' || stat.state === 'X' ? undefined : stat.parent
}
