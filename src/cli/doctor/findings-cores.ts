/** What `doctor` says about how cores lie, which of them may be used, and where `affinity: "auto"` would put workers. */
import type { BindingPlan } from '../../engine/bind/plan.js'
import { showCores } from '../../system/process/core-list.js'
import type { Topology } from '../../system/process/topology.js'
import { counted } from '../units.js'
import type { Finding } from './finding.js'

export interface CoreFacts {
  topology: Topology
  /** Cores of the machine that are switched on; null: not told. */
  online: number | null
  /** The nodes of GPUs. */
  near: readonly number[]
  /** What "auto" would do. */
  plan: BindingPlan
}

/** As they are for a feed that this process would open. */
export async function coreFacts(root = '/'): Promise<CoreFacts> {
  const [
    { lookAtTrainers },
    { planBinding },
    { ownTrainer },
    { readTopology },
    { readText },
    { autoWorkers },
    list,
  ] = await Promise.all([
    import('../../engine/bind/look.js'),
    import('../../engine/bind/plan.js'),
    import('../../engine/bind/trainer.js'),
    import('../../system/process/topology.js'),
    import('../../system/process/cgroup.js'),
    import('../../system/process/limits.js'),
    import('../../system/process/core-list.js'),
  ])
  const topology = readTopology(root)
  const trainers = await lookAtTrainers([ownTrainer()], root)
  const online = list.parseCores(readText(root, '/sys/devices/system/cpu/online') ?? '')?.length ?? null
  const plan = planBinding(topology, { ...trainers, binding: 'auto', workers: autoWorkers() })
  return { topology, online, near: trainers.near, plan }
}

export function coreFindings(facts: CoreFacts): Finding[] {
  return [layout(facts), affinity(facts)]
}

function layout({ topology, online }: CoreFacts): Finding {
  const physical = new Set(topology.map(core => core.physical)).size
  const nodes = [...new Set(topology.map(core => core.node))].sort((a, b) => a - b)
  const threads =
    physical < topology.length
      ? `${counted(physical, 'physical core')} with ${topology.length} threads (SMT)`
      : `${counted(physical, 'physical core')}, no SMT`
  const of = (node: number): string =>
    showCores(topology.filter(core => core.node === node).map(core => core.id))
  const at =
    nodes.length > 1
      ? `NUMA nodes ${nodes.map(node => `${node} (${of(node)})`).join(', ')}`
      : `NUMA node ${nodes[0] ?? 0}`
  const bound = online !== null && topology.length < online
  const mask = `${bound ? `bound to ${showCores(topology.map(core => core.id))} of ${online} cores` : 'not bound'}`
  return {
    what: 'layout of cores',
    verdict: 'ok',
    is: `${threads}, ${at}; this process is ${mask}`,
    data: { cores: topology, online },
  }
}

function affinity({ plan, near }: CoreFacts): Finding {
  const { places, kept, cores } = plan
  const what = 'affinity auto'
  if (places.length === 0) return { what, verdict: 'ok', is: 'can’t be told: cores are not known' }
  const coresOf = (list: readonly number[]): string =>
    `${list.length === 1 ? 'core' : 'cores'} ${showCores(list)}`
  const one = places.length === 1 ? '' : ', one each'
  const where =
    places.length <= cores.length
      ? `${coresOf(places.flat())}${one}`
      : `${coresOf(places[0])} together, since free cores are fewer`
  const shared = kept.some(core => places[0].includes(core))
  const left =
    kept.length === 0 || shared
      ? ''
      : `; ${coresOf(kept)} ${kept.length === 1 ? 'is' : 'are'} left to the trainer`
  const gpu =
    near.length > 1
      ? `; GPUs are at nodes ${near.join(', ')}`
      : near.length === 1
        ? `; the GPU is at node ${near[0]}`
        : ''
  return {
    what,
    verdict: 'ok',
    is: `would bind ${counted(places.length, 'worker')} to ${where}${left}${gpu}`,
    data: { places, kept, near },
  }
}
