/**
 * Which configurations are measured. Not the product of all values: from the default, one thing is varied after the other, each
 * at the best that was found before (coordinate descent).
 */
import { BASELINE, type Binding, type Configuration, configurationOf, type Setting } from './configuration.js'

/** Values that were asked for; undefined: chosen for the machine. */
export interface Asked {
  workers?: readonly number[]
  depth?: readonly number[]
  affinity?: readonly Binding[]
  cache?: readonly number[]
}

/** What the values are chosen by. */
export interface Machine {
  /** Whole cores that may be used, and the workers that `workers: "auto"` begins with. */
  cores: number
  autoWorkers: number
  /** Batches made ahead by default, and at most. */
  depth: number
  mostDepth: number
  mostWorkers: number
  /** Whether this Millrace can bind workers to cores. */
  canBind: boolean
}

/** What a first look at a configuration has shown. Null: it could not run. */
export interface Seen {
  samplesPerSecond: number
  /** Share of the time that the trainer lost; null: it computes nothing, and always waits. */
  lost: number | null
  /** Share of their time that workers were blocked. */
  blocked: number
  /** Bytes of the block cache that the engine chose. Null: the feed has none. */
  cache: number | null
}

/** A first look is one run: what is not better by more than this counts as equal, and the default stays. */
const LOOK_NOISE = 0.03
/** A trainer that loses less has nothing to gain: only cheaper settings are worth a look. */
const NOTHING_LOST = 0.02
/** Workers that are blocked for more of their time than this are worth having more of than there are cores. */
const BLOCKED = 0.3
/** The least cache that is tried. */
const LEAST_CACHE = 16 * 2 ** 20

export class Grid {
  private readonly seen = new Map<string, Seen | null>()
  private readonly known = new Map<string, Configuration>()
  readonly baseline = configurationOf(BASELINE, 'baseline')
  readonly usual: Configuration

  constructor(
    private readonly asked: Asked,
    private readonly machine: Machine,
  ) {
    const { autoWorkers, depth } = machine
    this.usual = configurationOf({ workers: autoWorkers, depth, affinity: 'off', cache: null }, 'default')
    for (const one of [this.baseline, this.usual]) this.known.set(one.name, one)
  }

  note(configuration: Configuration, seen: Seen | null): void {
    this.known.set(configuration.name, configuration)
    this.seen.set(configuration.name, seen)
  }

  /** The configurations to look at next: each is noted before this is asked again. Empty: these are all. */
  next(): Configuration[] {
    const first = this.unseen([this.baseline, this.usual])
    if (first.length > 0) return first
    let best: Setting = this.usual
    for (const vary of [this.workers, this.depths, this.bindings, this.caches]) {
      const around = vary.call(this, best).map(setting => this.configuration(setting))
      const left = this.unseen(around)
      if (left.length > 0) return left
      best = this.best([this.configuration(best), ...around])
    }
    return []
  }

  /** How many there will be, about: for an estimate before any was seen. */
  estimate(): number {
    const { asked, usual } = this
    const values = [
      asked.workers ?? usualWorkers(this.machine),
      asked.depth ?? usualDepths(this.machine),
      this.bindingsOf(usual.workers),
      asked.cache ?? [],
    ]
    const others = [usual.workers, usual.depth, usual.affinity, null]
    return values.reduce(
      (sum, list, i) => sum + list.filter(value => value !== others[i] && value !== 0).length,
      2,
    )
  }

  private configuration(setting: Setting): Configuration {
    const made = configurationOf(setting)
    return this.known.get(made.name) ?? made
  }

  private unseen(list: readonly Configuration[]): Configuration[] {
    const fresh = new Map(list.filter(({ name }) => !this.seen.has(name)).map(one => [one.name, one]))
    return [...fresh.values()]
  }

  /** The fastest; where none is clearly faster than the first, that. */
  private best([first, ...others]: readonly Configuration[]): Configuration {
    const rate = ({ name }: Configuration) => this.seen.get(name)?.samplesPerSecond ?? 0
    return others.reduce(
      (best, one) => (rate(one) > rate(best) && rate(one) > (1 + LOOK_NOISE) * rate(first) ? one : best),
      first,
    )
  }

  private workers(at: Setting): Setting[] {
    const { asked, machine } = this
    const { cores, mostWorkers } = machine
    const usual = this.seen.get(this.usual.name)
    let list: readonly number[] = asked.workers ?? usualWorkers(machine)
    if (asked.workers === undefined && usual) {
      if (usual.lost !== null && usual.lost < NOTHING_LOST)
        list = list.filter(workers => workers <= this.usual.workers)
      else if (usual.blocked > BLOCKED)
        list = [...list, Math.min(mostWorkers, 2 * cores), Math.min(mostWorkers, 4 * cores)]
    }
    return list.map(workers => ({ ...at, workers }))
  }

  private depths(at: Setting): Setting[] {
    if (at.workers === 0) return []
    const { asked, machine } = this
    const list = asked.depth ?? usualDepths(machine).filter(depth => depth <= at.depth || !this.idle)
    const deepest = Math.max(...list, at.depth)
    // Where the deepest is the best so far, twice of it may be better still.
    const deeper =
      asked.depth === undefined &&
      deepest > this.usual.depth &&
      this.best([at, ...list.map(depth => ({ ...at, depth }))].map(one => this.configuration(one))).depth ===
        deepest
    return [...list, ...(deeper ? [Math.min(machine.mostDepth, 2 * deepest)] : [])].map(depth => ({
      ...at,
      depth,
    }))
  }

  private bindings(at: Setting): Setting[] {
    if (at.workers === 0) return []
    return this.bindingsOf(at.workers).map(affinity => ({ ...at, affinity }))
  }

  private caches(at: Setting): Setting[] {
    const chosen = this.seen.get(this.usual.name)?.cache ?? null
    if (this.asked.cache !== undefined) return this.asked.cache.map(cache => ({ ...at, cache }))
    if (chosen === null || chosen === 0) return []
    const mib = (bytes: number) => Math.max(LEAST_CACHE, Math.round(bytes / 2 ** 20) * 2 ** 20)
    const sizes = this.idle ? [mib(chosen / 2)] : [mib(chosen / 2), mib(2 * chosen)]
    return sizes.map(cache => ({ ...at, cache }))
  }

  /** Whether the trainer does not wait with the default: then nothing but a cheaper setting is worth a look. */
  private get idle(): boolean {
    const lost = this.seen.get(this.usual.name)?.lost ?? null
    return lost !== null && lost < NOTHING_LOST
  }

  /** Workers that are as many as the cores, or more, are not bound by "auto": they share all cores (engine/bind/plan.ts). */
  private bindingsOf(workers: number): readonly Binding[] {
    const { canBind, cores } = this.machine
    return this.asked.affinity ?? (canBind && workers < cores ? ['off', 'auto'] : ['off'])
  }
}

/** 1, a quarter and a half of what "auto" begins with, that, all cores, and half as many again: some queue, but others may be blocked. */
export function usualWorkers({ cores, autoWorkers, mostWorkers }: Machine): number[] {
  const list = [1, Math.round(autoWorkers / 4), Math.round(autoWorkers / 2), autoWorkers, cores]
  return distinct([...list, Math.ceil(1.5 * cores)].map(workers => Math.min(mostWorkers, workers)))
}

/** Half and twice of the default, and that. */
export function usualDepths({ depth, mostDepth }: Machine): number[] {
  return distinct([Math.floor(depth / 2), depth, 2 * depth].map(one => Math.min(mostDepth, one)))
}

function distinct(list: readonly number[]): number[] {
  return [...new Set(list.filter(one => one >= 1))].sort((a, b) => a - b)
}
