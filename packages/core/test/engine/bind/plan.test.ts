/** Which worker gets which cores, on machines of several kinds. */
import { describe, expect, test } from 'vitest'
import { type BindingPlan, planBinding, type Wanted } from '../../../engine/bind/plan.js'
import type { Topology } from '../../../system/process/topology.js'
import { CONTAINER, EPYC, MACHINES, SERVER, SMT, VM } from './machines.js'

const auto = (topology: Topology, workers: number, more: Partial<Wanted> = {}): BindingPlan =>
  planBinding(topology, { binding: 'auto', workers, near: [], trainers: [], keep: 1, ...more })

const run = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const sorted = (cores: readonly number[]): number[] => [...cores].sort((a, b) => a - b)

describe('auto', () => {
  test('of 2 cores leaves the first to the trainer', () => {
    expect(auto(VM.topology, 1)).toEqual({ cores: [1], kept: [0], places: [[1]] })
  })

  test('with more workers than free cores lets all of them run on all cores', () => {
    expect(auto(VM.topology, 2).places).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(auto(VM.topology.slice(0, 1), 1)).toEqual({ cores: [0], kept: [], places: [[0]] })
  })

  test('fills physical cores before second threads, and leaves a whole one to a trainer with a GPU', () => {
    const plan = auto(SMT.topology, 6, { near: [0], keep: 2 })
    expect(plan.kept).toEqual([0, 1])
    expect(plan.places).toEqual([[2], [4], [6], [3], [5], [7]])
  })

  test('takes the second thread of the trainer’s core last', () => {
    expect(auto(SMT.topology, 7).places.flat()).toEqual([2, 4, 6, 3, 5, 7, 1])
  })

  test('begins at the node of the GPU', () => {
    const plan = auto(SERVER.topology, 40, { near: [1], keep: 8 })
    // Four physical cores of node 1 are the trainers'. Then come the cores of node 1, then whole ones of node 0.
    expect(plan.kept).toEqual([32, 33, 34, 35, 96, 97, 98, 99])
    expect(plan.places.flat()).toEqual([...run(36, 63), ...run(0, 11)])
  })

  test('serves the nodes of several GPUs in turn, and leaves cores at each', () => {
    const plan = auto(SERVER.topology, 4, { near: [0, 1], keep: 8 })
    expect(plan.kept).toEqual([0, 1, 32, 33, 64, 65, 96, 97])
    expect(plan.places).toEqual([[2], [34], [3], [35]])
    const epyc = auto(EPYC.topology, 4, { near: EPYC.gpus, keep: 8 })
    expect(epyc.places.map(([core]) => EPYC.topology[core].node)).toEqual([1, 3, 5, 7])
  })

  test('keeps off the cores that the trainer is bound to', () => {
    const plan = auto(SERVER.topology, 96, { trainers: [...run(0, 15), ...run(64, 79)], near: [0] })
    expect(plan.kept).toEqual([...run(0, 15), ...run(64, 79)])
    expect(plan.places.flat().filter(core => plan.kept.includes(core))).toEqual([])
    // More workers than other cores: these are shared, and the trainer's stay its own.
    expect(auto(SMT.topology, 9, { trainers: [0, 1] }).places[8]).toEqual([2, 3, 4, 5, 6, 7])
    // A trainer that is bound elsewhere needs none of ours.
    expect(auto(SMT.topology, 8, { trainers: [99] }).kept).toEqual([])
    // One that is bound to all is not bound.
    expect(auto(SMT.topology, 3, { trainers: run(0, 7) }).kept).toEqual([0])
  })

  test('in a container keeps to what is allowed', () => {
    const plan = auto(CONTAINER.topology, 9, { near: [1], keep: 2 })
    // Node 1 has 40, 41 and the second thread 105 of 41; 67 and 68 are the second threads of 3 and 4.
    expect(plan.kept).toEqual([40, 41])
    expect(plan.places.flat()).toEqual([3, 4, 5, 9, 10, 17, 67, 68, 105])
  })
})

describe('ranks that have workers of their own', () => {
  const among = (rank: number, world: number, nodes?: number[]) => ({ rank, world, ...(nodes && { nodes }) })

  test('divide the machine in the order of its cores', () => {
    const plans = [0, 1, 2, 3].map(rank => auto(SERVER.topology, 8, { among: among(rank, 4) }))
    expect(plans[0].cores.filter(core => core < 64)).toEqual(run(1, 15))
    expect(plans[3].places.flat()).toEqual(run(49, 56))
  })

  test('divide each node among those whose GPUs are there', () => {
    const plan = (rank: number) =>
      auto(SERVER.topology, 8, { among: among(rank, 4, [1, 1, 0, 0]), near: [rank < 2 ? 1 : 0] })
    expect(plan(0).places.flat()).toEqual(run(33, 40))
    expect(plan(2).places.flat()).toEqual(run(1, 8))
  })

  test('never take a core twice', () => {
    for (const { topology } of MACHINES) {
      for (const world of [2, 3, 8]) {
        if (new Set(topology.map(core => core.physical)).size < world) continue
        const all = run(0, world - 1).flatMap(rank => {
          const { cores, kept } = auto(topology, 1, { among: among(rank, world) })
          return [...cores, ...kept]
        })
        expect(sorted(all)).toEqual(topology.map(core => core.id))
      }
    }
  })

  test('share all where there are fewer cores than ranks', () => {
    expect(auto(VM.topology, 1, { among: among(2, 3) }).places).toEqual([[1]])
    expect(auto(VM.topology, 1, { among: among(0, 3) }).cores.length).toBe(1)
  })
})

describe('a list', () => {
  const list = (binding: number[], workers: number, topology = SMT.topology) =>
    planBinding(topology, { binding, workers, near: [0], trainers: [0], keep: 2 }).places

  test('gives each worker a core of its own, physical ones first, in its order', () => {
    expect(list([4, 2, 3, 0], 4)).toEqual([[4], [2], [0], [3]])
  })

  test('is shared by more workers than it has cores', () => {
    expect(list([4, 2], 3)).toEqual([
      [2, 4],
      [2, 4],
      [2, 4],
    ])
  })
})

test('off binds nothing', () => {
  const wanted: Wanted = { binding: 'off', workers: 4, near: [], trainers: [], keep: 1 }
  expect(planBinding(SMT.topology, wanted)).toEqual({ cores: [], kept: [], places: [] })
  expect(planBinding([], { ...wanted, binding: 'auto' }).places).toEqual([])
})

describe.each(MACHINES)('whatever is asked of $name', ({ topology }) => {
  const nodes = [...new Set(topology.map(core => core.node))]
  let seed = 7
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const some = <T>(of: readonly T[]): T[] => of.filter(() => random(3) === 0)

  test('workers stay within what is allowed, off a bound trainer, and where they were', () => {
    const allowed = topology.map(core => core.id)
    for (let round = 0; round < 100; round++) {
      const world = 1 + random(4)
      const wanted: Wanted = {
        binding: 'auto',
        workers: 1 + random(2 * allowed.length),
        near: some(nodes),
        trainers: some(allowed),
        keep: 1 + random(8),
        ...(random(2) === 0 && { among: { rank: random(world), world } }),
      }
      const plan = planBinding(topology, wanted)
      const again = planBinding(structuredClone(topology), structuredClone(wanted))
      expect(JSON.stringify(again)).toBe(JSON.stringify(plan))
      expect(plan.places.length).toBe(wanted.workers)
      const used = plan.places.flat()
      expect(used.every(core => allowed.includes(core))).toBe(true)
      // Its cores and the trainers' are apart, and there is always one for workers.
      expect(plan.cores.some(core => plan.kept.includes(core))).toBe(false)
      expect(plan.cores.length).toBeGreaterThan(0)
      const bound = wanted.trainers.filter(core => [...plan.cores, ...plan.kept].includes(core))
      const all = plan.cores.length + plan.kept.length
      if (wanted.trainers.length > 0 && bound.length < all) {
        expect(plan.kept).toEqual(sorted(bound))
        expect(used.some(core => bound.includes(core))).toBe(false)
      }
      if (wanted.workers <= plan.cores.length) {
        expect(new Set(used).size).toBe(wanted.workers)
        // One worker fewer: the others stay.
        const fewer = planBinding(topology, { ...wanted, workers: wanted.workers - 1 })
        expect(fewer.places).toEqual(plan.places.slice(0, -1))
      } else expect(new Set(plan.places.map(String)).size).toBe(1)
    }
  })
})
