/** What doctor says about cores and binding on machines of several kinds. */
import { describe, expect, test } from 'vitest'
import { coreFacts, coreFindings } from '../../src/cli/doctor/findings-cores.js'
import { planBinding } from '../../src/engine/bind/plan.js'
import { CONTAINER, type MachineCase, SERVER, VM } from '../engine/bind/machines.js'

function said({ topology, gpus }: MachineCase, online: number, workers: number, keep: number): string[] {
  const wanted = { binding: 'auto', workers, near: gpus, trainers: [], keep } as const
  const plan = planBinding(topology, wanted)
  return coreFindings({ topology, online, near: gpus, plan }).map(({ is }) => is)
}

describe('cores and binding', () => {
  test('of a VM', () => {
    expect(said(VM, 2, 1, 1)).toEqual([
      '2 physical cores, no SMT, NUMA node 0; this process is not bound',
      'would bind 1 worker to core 1; core 0 is left to the trainer',
    ])
    expect(said(VM, 2, 2, 1)[1]).toBe(
      'would bind 2 workers to cores 0-1 together, since free cores are fewer',
    )
  })

  test('of a server with GPUs', () => {
    expect(said(SERVER, 128, 4, 8)).toEqual([
      '64 physical cores with 128 threads (SMT), NUMA nodes 0 (0-31,64-95), 1 (32-63,96-127); this process is not bound',
      'would bind 4 workers to cores 2-3,34-35, one each; cores 0-1,32-33,64-65,96-97 are left to the trainer; GPUs are at nodes 0, 1',
    ])
  })

  test('of a container', () => {
    expect(said(CONTAINER, 128, 2, 2)).toEqual([
      '8 physical cores with 11 threads (SMT), NUMA nodes 0 (3-5,9-10,17,67-68), 1 (40-41,105); this process is bound to ' +
        '3-5,9-10,17,40-41,67-68,105 of 128 cores',
      'would bind 2 workers to cores 3-4, one each; cores 40-41 are left to the trainer; the GPU is at node 1',
    ])
  })

  test('are read from this machine', async () => {
    const { topology, plan } = await coreFacts()
    expect(topology.length).toBeGreaterThan(0)
    expect(plan.places.length).toBeGreaterThan(0)
  })
})
