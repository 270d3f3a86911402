/**
 * Binds the workers of a pool to cores. A pool serves all feeds of its process, so it has one binding: that of the feed that
 * has been open longest among those that ask for one, or, while it is tried out, the one that `bind` was given. Worker k has
 * the k-th place of the plan, also when it is started again.
 */
import { stat } from 'node:fs'
import type { Topology } from '../../system/process/topology.js'
import type { BindingPlan, planBinding, Wanted } from './plan.js'
import type { Binding } from './policy.js'
import type { Trainer } from './trainer.js'

/** What a feed asks for. */
export interface AffinityAsk {
  /** Undefined: the feed does not say, and workers are bound if another feed of the process wants it. */
  binding?: Binding
  /** The process that the feed is for. */
  trainer: Trainer
  /** Told what comes of it where that is not what was asked for. */
  notice?: (text: string) => void
}

/** How workers are bound now. */
export interface Bound extends BindingPlan {
  binding: Binding
}

/** What a plan for any number of workers is made of. */
interface Facts {
  binding: Binding
  topology: Topology
  trainers: Omit<Wanted, 'binding' | 'workers'>
  plan: typeof planBinding
}

const NOT_BOUND: Bound = { binding: 'off', cores: [], kept: [], places: [] }

export class Binder {
  /** By ring, the one that was opened first first. */
  private readonly asks = new Map<number, AffinityAsk>()
  private tried: Binding | undefined
  private facts: Facts | undefined
  private workers = 0
  /** How workers are bound, as they were told. */
  private bound = NOT_BOUND
  /** The cores that each worker was told. Undefined: none. */
  private readonly reported: (readonly number[] | undefined)[] = []
  /** Counts changes: a look that took long may be overtaken by the next one. */
  private changes = 0
  private warned = false

  /** `tell` has a worker bound to these cores; undefined: to none. */
  constructor(private readonly tell: (maker: number, cores: readonly number[] | undefined) => void) {}

  get state(): Bound {
    return this.bound
  }

  /** A feed is opened. */
  async ask(ring: number, ask: AffinityAsk): Promise<void> {
    this.asks.set(ring, ask)
    await this.settle()
    const { binding, notice } = ask
    if (binding === undefined || notice === undefined) return
    const { showBinding } = await import('./policy.js')
    const { canBind } = await import('../../system/process/affinity.js')
    if (binding !== 'off' && !canBind) notice('affinity: workers are not bound: that works on Linux only')
    const ruling = this.wanted
    if (showBinding(ruling) === showBinding(binding)) return
    notice(
      `affinity ${showBinding(binding)} has no effect: all feeds of a process share its workers, and these are bound ` +
        `as a feed asked that was opened before, ${showBinding(ruling)}. Close that one first, or give both the same`,
    )
  }

  /** A feed is closed. Those that are still open may want something else. */
  leave(ring: number): void {
    if (!this.asks.delete(ring)) return
    if (this.asks.size === 0) this.tried = undefined
    void this.settle()
  }

  /** Binds workers otherwise while feeds are open, whatever these ask for; undefined: as they ask for. Cheap, and can be undone. */
  async bind(binding: Binding | undefined): Promise<void> {
    this.tried = binding
    await this.settle()
  }

  /** There are so many workers now. */
  resize(workers: number): void {
    this.workers = workers
    this.apply()
  }

  /** The cores of a worker that is being started. Undefined: it is not bound. */
  place(maker: number): readonly number[] | undefined {
    this.reported[maker] = this.bound.places[maker]
    return this.reported[maker]
  }

  /** A worker could not be bound: it runs where it could before. */
  failed(why: string): undefined {
    if (this.warned) return undefined
    this.warned = true
    process.emitWarning(`workers are not bound to cores: the system refuses it (${why})`, 'MillraceNotice')
    return undefined
  }

  /** What is to be in effect. */
  private get wanted(): Binding {
    if (this.tried !== undefined) return this.tried
    for (const { binding } of this.asks.values()) if (binding !== undefined) return binding
    return 'off'
  }

  /** Looks at the machine and the trainers again, and binds workers accordingly. */
  private async settle(): Promise<void> {
    const change = ++this.changes
    const binding = this.wanted
    const facts =
      binding === 'off' ? undefined : await this.look(binding).catch(error => this.failed(error.message))
    if (change !== this.changes) return
    this.facts = facts
    this.apply()
  }

  private async look(binding: Binding): Promise<Facts | undefined> {
    const [{ canBind }, { readTopology }, { lookAtTrainers }, { planBinding: plan }] = await Promise.all([
      import('../../system/process/affinity.js'),
      import('../../system/process/topology.js'),
      import('./look.js'),
      import('./plan.js'),
    ])
    if (!canBind) return undefined
    // Node's pool of threads starts with its first task, in the thread that has it: it must not be a worker that is bound.
    stat('/', () => {})
    const trainers = await lookAtTrainers(Array.from(this.asks.values(), ({ trainer }) => trainer))
    return { binding, topology: readTopology(), trainers, plan }
  }

  private apply(): void {
    const { facts, workers } = this
    if (facts === undefined) this.bound = NOT_BOUND
    else {
      const { binding, topology, trainers, plan } = facts
      this.bound = { binding, ...plan(topology, { ...trainers, binding, workers }) }
    }
    const { places } = this.bound
    for (let maker = 0; maker < Math.max(places.length, this.reported.length); maker++) {
      // Workers that sleep stay as they are, as long as others are bound.
      if (maker >= places.length && places.length > 0) continue
      if (String(places[maker]) === String(this.reported[maker])) continue
      this.reported[maker] = places[maker]
      this.tell(maker, places[maker])
    }
  }
}
