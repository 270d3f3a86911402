/** The same batches twice, in a process of its own: the second time they are in memory. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FeedJson } from '../../core/define/types.js'
import type { OpenOptions } from '../../core/deliver/options.js'
import type { State } from '../../core/order/state.js'
import { registryVariable } from '../../core/system/node/registry.js'
import type { Probes } from '../evidence.js'

/** Batches that are made twice. */
export const BATCHES = 20

/** What the process is told, on its stdin. */
export interface CachedTask {
  json: FeedJson
  options: Pick<
    OpenOptions,
    'root' | 'plugins' | 'workers' | 'affinity' | 'depth' | 'rank' | 'world' | 'cache' | 'timeout'
  >
  state: State
}

const SCRIPT = fileURLToPath(new URL('./cached-process.js', import.meta.url))

/** Undefined: it took longer than `seconds`, or failed. Then nothing is known, and nothing is said. */
export function measureCached(task: CachedTask, seconds: number): Promise<Probes['cached']> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [SCRIPT], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, ...registryVariable() },
    })
    const late = setTimeout(() => child.kill('SIGKILL'), 1000 * seconds)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', more => {
      text += more
    })
    child.stdin.on('error', () => {}) // it has ended before it was told all
    child.stdin.end(JSON.stringify(task))
    child.on('error', () => resolve(undefined))
    child.on('close', code => {
      clearTimeout(late)
      const rate = code === 0 ? Number(text) : Number.NaN
      resolve(rate > 0 ? { samplesPerSecond: rate, batches: BATCHES } : undefined)
    })
  })
}
