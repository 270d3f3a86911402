/** One way to run a feed: what `millrace bench` varies. None of it changes what is delivered. */
import { createHash } from 'node:crypto'

export type Binding = 'off' | 'auto'

export interface Setting {
  workers: number
  depth: number
  affinity: Binding
  /** Bytes of the block cache. Null: as the engine chooses. */
  cache: number | null
}

/**
 * baseline: without workers, the trainer's thread makes each batch when it asks for it. default: what the engine chooses. variation: all
 * others.
 */
export type Role = 'baseline' | 'default' | 'variation'

export interface Configuration extends Setting {
  /** Names the setting, and the files of it: `w4-d4`, `w4-d8-bound-c256MiB`. */
  name: string
  role: Role
}

/** Without workers nothing is made ahead: one slot does. */
export const BASELINE: Setting = { workers: 0, depth: 1, affinity: 'off', cache: null }

export function configurationOf(setting: Setting, role: Role = 'variation'): Configuration {
  const { workers, cache } = setting
  // Without workers neither depth nor binding matters.
  const { depth, affinity } = workers === 0 ? BASELINE : setting
  const bound = affinity === 'auto' ? '-bound' : ''
  const cached = cache === null ? '' : `-c${shortBytes(cache)}`
  return { name: `w${workers}-d${depth}${bound}${cached}`, role, workers, depth, affinity, cache }
}

/** In words: `4 workers, depth 8, bound to cores`. */
export function inWords({ workers, depth, affinity, cache }: Setting): string {
  const makers = workers === 0 ? 'no workers' : workers === 1 ? '1 worker' : `${workers} workers`
  return [
    makers,
    ...(workers === 0 ? [] : [`depth ${depth}`]),
    ...(affinity === 'auto' ? ['bound to cores'] : []),
    ...(cache === null ? [] : [`cache ${shortBytes(cache)}`]),
  ].join(', ')
}

/** The options of `millrace run` that set it. */
export function optionsOf({ workers, depth, affinity, cache }: Setting): string {
  return [
    `--workers ${workers} --depth ${depth}`,
    ...(affinity === 'auto' ? ['--affinity auto'] : []),
    ...(cache === null ? [] : [`--cache ${shortBytes(cache)}`]),
  ].join(' ')
}

/** Stands behind the command line of the default. */
export const NOTHING_GIVEN = '# nothing needs to be given: workers and depth are tuned then'

/** Of several settings, whatever their order. */
export function gridHash(settings: readonly Configuration[]): string {
  const names = settings.map(({ name }) => name).sort()
  return createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 16)
}

/** `256MiB`; bytes, where it is no whole number of MiB. */
function shortBytes(bytes: number): string {
  return bytes % 2 ** 20 === 0 && bytes > 0 ? `${bytes / 2 ** 20}MiB` : String(bytes)
}
