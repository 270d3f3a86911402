/**
 * Which worker runs on which cores, as plain data: a pure function of the machine's cores, what was asked for, and the number of
 * workers.
 *
 * The cores get one order, and worker k has the k-th of them: with another number of workers, the others stay where they
 * are. First come physical cores near the GPUs, then those of other nodes, and then, in the same order, their second
 * threads: a second thread brings a third of a core at most, and a core at another node brings a whole one.
 *
 * Where workers are more than cores, each of them may run on all of these: the system then moves them as they work and
 * wait, and two that were bound to one core would be half as fast as the rest.
 */
import type { Core, Topology } from '../../system/process/topology.js'
import type { Binding } from './policy.js'

/** What is to be planned for. */
export interface Wanted {
  binding: Binding
  workers: number
  /** The nodes of the GPUs that are fed, each once. None: no node is better than another. */
  near: readonly number[]
  /** The cores that trainers are bound to. None, or all: they are not bound. */
  trainers: readonly number[]
  /** So many cores are left to trainers that are not bound. */
  keep: number
  /** This process is one of several that divide the machine, each with workers of its own. */
  among?: Among
}

export interface Among {
  rank: number
  world: number
  /** The node of each rank's GPU, where all are known. */
  nodes?: readonly number[]
}

export interface BindingPlan {
  /** The cores of workers, in the order in which these get them. */
  cores: number[]
  /** The cores that are left to trainers. */
  kept: number[]
  /** The cores of each worker. Empty: workers are not bound. */
  places: number[][]
}

export function planBinding(topology: Topology, wanted: Wanted): BindingPlan {
  const { binding, workers } = wanted
  if (binding === 'off' || topology.length === 0) return { cores: [], kept: [], places: [] }
  if (binding === 'auto') return planAuto(topology, wanted)
  const listed = binding.flatMap(id => topology.find(core => core.id === id) ?? [])
  const cores = ids(inTurns(listed, topology))
  return { cores, kept: [], places: placesOf(cores, cores, workers) }
}

function planAuto(topology: Topology, { workers, near, trainers, keep, among }: Wanted): BindingPlan {
  const mine = among === undefined ? topology : shareOf(topology, among)
  const bindings = new Set(trainers)
  const taken = mine.filter(core => bindings.has(core.id))
  const bound = trainers.length > 0 && taken.length < mine.length
  const ordered = ranked(mine, near)
  const kept = bound ? taken : keptOf(ordered, Math.min(keep, mine.length - 1))
  const free = ordered.filter(core => !kept.includes(core))
  // Threads that share a physical core with a trainer slow it down: they come last.
  const theirs = new Set(kept.map(core => core.physical))
  const apart = free.filter(core => !theirs.has(core.physical))
  const beside = free.filter(core => theirs.has(core.physical))
  const cores = ids([...apart, ...beside])
  // A core that is kept for a trainer that may sleep, while workers wait for one another's cores, costs more than it brings.
  const all = bound ? cores : ids(ordered)
  return { cores, kept: ids(kept).sort((a, b) => a - b), places: placesOf(cores, all, workers) }
}

/** One core each; or all of `all`, where there are too few. */
function placesOf(cores: readonly number[], all: readonly number[], workers: number): number[][] {
  const shared = [...all].sort((a, b) => a - b)
  return Array.from({ length: workers }, (_, worker) => (workers <= cores.length ? [cores[worker]] : shared))
}

/** Physical cores before their second threads; of both, those near the GPUs first, of each node in turn. */
function ranked(cores: readonly Core[], near: readonly number[]): Core[] {
  const ofNode = (node: number): Core[] => cores.filter(core => core.node === node)
  const others = [...cores]
    .filter(({ node }) => !near.includes(node))
    .sort((a, b) => a.node - b.node || a.id - b.id)
  return inTurns([...dealt(near.map(ofNode)), ...others], cores)
}

/** First threads of physical cores, then second ones, in the given order. `all` says what is a second one. */
function inTurns(cores: readonly Core[], all: readonly Core[]): Core[] {
  const turns = new Map<number, number>()
  for (const threads of grouped(all, core => core.physical).values())
    for (const [turn, { id }] of threads.entries()) turns.set(id, turn)
  return [...cores].sort((a, b) => turns.get(a.id)! - turns.get(b.id)!)
}

/** The first of each list, then the second of each, … */
function dealt(lists: readonly (readonly Core[])[]): Core[] {
  const longest = Math.max(0, ...lists.map(list => list.length))
  return Array.from({ length: longest }, (_, i) => lists.flatMap(list => list[i] ?? [])).flat()
}

/** Cores for trainers that are not bound: whole physical ones, in the order in which workers would get them. */
function keptOf(ordered: readonly Core[], count: number): Core[] {
  return [...grouped(ordered, core => core.physical).values()].flat().slice(0, count)
}

/**
 * The part of one rank: physical cores with all their threads. Ranks whose GPUs are known to be at a node divide that node;
 * nodes without GPUs are divided among all ranks, and so is everything where it is not known.
 */
function shareOf(topology: Topology, { rank, world, nodes }: Among): Topology {
  const known = nodes !== undefined && nodes.length === world ? nodes : undefined
  const groups = known === undefined ? [topology] : [...grouped(topology, core => core.node).values()]
  const mine = groups.flatMap(group => {
    const ranks = [...Array(world).keys()].filter(other => known?.[other] === group[0].node)
    const claimants = ranks.length > 0 ? ranks : [...Array(world).keys()]
    const at = claimants.indexOf(rank)
    if (at < 0) return []
    const physical = [
      ...new Set([...group].sort((a, b) => a.node - b.node || a.id - b.id).map(core => core.physical)),
    ]
    const from = Math.floor((at * physical.length) / claimants.length)
    const to = Math.floor(((at + 1) * physical.length) / claimants.length)
    return group.filter(core => physical.slice(from, to).includes(core.physical))
  })
  // More ranks than cores: there is nothing to divide.
  return mine.length > 0 ? mine : topology
}

/** Lists of cores that have something in common, in the order of their first. */
function grouped(cores: readonly Core[], by: (core: Core) => number): Map<number, Core[]> {
  const groups = new Map<number, Core[]>()
  for (const core of cores) {
    const group = groups.get(by(core))
    if (group === undefined) groups.set(by(core), [core])
    else group.push(core)
  }
  return groups
}

function ids(cores: readonly Core[]): number[] {
  return cores.map(core => core.id)
}
