/** Cores, GPUs and trainers as files of made-up machines show them. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../../test/support/folder.js'
import { gpuPlaces, lookAtTrainers, nodesOf, visiblePlaces } from '../../../engine/bind/look.js'
import { readAffinity, showBinding } from '../../../engine/bind/policy.js'
import { ownTrainer } from '../../../engine/bind/trainer.js'
import { parseCores, showCores } from '../../../system/process/core-list.js'
import { allowedCores, boundByItself, readTopology } from '../../../system/process/topology.js'

function machine(files: Record<string, string>): string {
  const root = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), `${text}\n`)
  }
  return root
}

const status = (cores: string, parent = 1) => `Name:\tnode\nPPid:\t${parent}\nCpus_allowed_list:\t${cores}`

/** 2 nodes of 4 cores with SMT: 0–7 and their second threads, 8–15; three GPUs, of which two at node 1. */
function server(mask = '0-15', more: Record<string, string> = {}): string {
  const siblings = Object.fromEntries(
    Array.from({ length: 16 }, (_, core) => [
      `/sys/devices/system/cpu/cpu${core}/topology/thread_siblings_list`,
      `${core % 8},${(core % 8) + 8}`,
    ]),
  )
  const gpu = (bus: string, minor: number, node: number, model = 'NVIDIA H200') => ({
    [`/proc/driver/nvidia/gpus/${bus}/information`]: `Model: \t\t ${model}\nGPU UUID: \t GPU-${minor}abc\nDevice Minor: \t ${minor}`,
    [`/sys/bus/pci/devices/${bus}/numa_node`]: String(node),
    [`/sys/bus/pci/devices/${bus}/local_cpulist`]: node === 0 ? '0-3,8-11' : '4-7,12-15',
    [`/dev/nvidia${minor}`]: '',
  })
  return machine({
    '/proc/self/status': status(mask),
    '/sys/devices/system/cpu/online': '0-15',
    '/sys/devices/system/node/node0/cpulist': '0-3,8-11',
    '/sys/devices/system/node/node1/cpulist': '4-7,12-15',
    ...siblings,
    ...gpu('0000:19:00.0', 2, 0),
    ...gpu('0000:8a:00.0', 0, 1),
    ...gpu('0000:c1:00.0', 1, 1),
    ...more,
  })
}

describe('cores', () => {
  test('of a server, within the mask', () => {
    expect(readTopology(server('2,5,10-11,13'))).toEqual([
      { id: 2, physical: 2, node: 0 },
      { id: 5, physical: 5, node: 1 },
      { id: 10, physical: 2, node: 0 },
      { id: 11, physical: 3, node: 0 },
      { id: 13, physical: 5, node: 1 },
    ])
  })

  test('of a VM whose mask names cores that it does not have, and of one that shows nothing', () => {
    const vm = machine({ '/proc/self/status': status('0-127'), '/sys/devices/system/cpu/online': '0-1' })
    expect(readTopology(vm)).toEqual([
      { id: 0, physical: 0, node: 0 },
      { id: 1, physical: 1, node: 0 },
    ])
    expect(allowedCores(machine({ '/proc/self/status': status('1,3') }))).toEqual([1, 3])
    expect(readTopology(machine({})).length).toBeGreaterThan(0)
  })

  test('in the words of Linux', () => {
    expect(showCores([7, 2, 3, 4, 10, 3])).toBe('2-4,7,10')
    expect(showCores([])).toBe('')
    for (const text of ['0', '0-1', '2-7,10', '0,2,4-5']) expect(showCores(parseCores(text)!)).toBe(text)
  })
})

describe('a process that a launcher has started', () => {
  const files = (mine: string, parent: string) => ({
    '/proc/50/status': status(mine, 40),
    '/proc/40/status': status(parent),
    '/sys/devices/system/cpu/online': '0-15',
  })

  test('is bound by itself where its parent is not', () => {
    expect(boundByItself(50, machine(files('0-3', '0-15')))).toBe(true)
    expect(boundByItself(50, machine(files('0-15', '0-15')))).toBe(false)
    // taskset before the launcher binds all of its processes alike.
    expect(boundByItself(50, machine(files('0-3', '0-3')))).toBe(false)
    expect(boundByItself(51, machine(files('0-3', '0-15')))).toBe(false)
  })

  test('has all of its control group where the launcher itself is outside of that', () => {
    const group = {
      '/proc/self/cgroup': '0::/job',
      '/proc/self/mountinfo': '30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
      '/sys/fs/cgroup/job/cpuset.cpus.effective': '0-3',
    }
    expect(boundByItself(50, machine({ ...files('0-3', '0-15'), ...group }))).toBe(false)
    expect(boundByItself(50, machine({ ...files('0-1', '0-15'), ...group }))).toBe(true)
  })
})

describe('GPUs', () => {
  const nodes = (root: string, visible?: string, order?: string) =>
    visiblePlaces(gpuPlaces(root), visible, order)?.map(gpu => gpu.node)

  test('are counted by their addresses, and only those of the container', () => {
    expect(nodes(server())).toEqual([0, 1, 1])
    const one = machine({
      '/proc/driver/nvidia/gpus/0000:19:00.0/information': 'Device Minor: 0',
      '/proc/driver/nvidia/gpus/0000:8a:00.0/information': 'Device Minor: 1',
      '/sys/bus/pci/devices/0000:8a:00.0/numa_node': '1',
      '/sys/bus/pci/devices/0000:8a:00.0/local_cpulist': '4-7',
      '/dev/nvidia1': '',
    })
    expect(nodes(one)).toEqual([1])
    expect(gpuPlaces(machine({}))).toEqual([])
  })

  test('are those of CUDA_VISIBLE_DEVICES', () => {
    expect(nodes(server(), '2,0')).toEqual([1, 0])
    expect(nodes(server(), 'GPU-2')).toEqual([0])
    expect(nodes(server(), '1,-1,0')).toEqual([1])
    expect(nodes(server(), '')).toEqual([])
  })

  test('of several models are in an order that CUDA alone knows, unless it is told', () => {
    const mixed = server('0-15', {
      '/proc/driver/nvidia/gpus/0000:c1:00.0/information':
        'Model: NVIDIA T4\nGPU UUID: GPU-1abc\nDevice Minor: 1',
    })
    expect(nodes(mixed)).toBeUndefined()
    expect(nodes(mixed, '0')).toBeUndefined()
    expect(nodes(mixed, 'GPU-1')).toEqual([1])
    expect(nodes(mixed, '0', 'PCI_BUS_ID')).toEqual([0])
  })

  test('say which node a trainer is near to', () => {
    const all = gpuPlaces(server())
    expect(nodesOf({ pid: 1, device: 0 }, all)).toEqual([0])
    expect(nodesOf({ pid: 1, device: 1, visible: '1,2' }, all)).toEqual([1])
    expect(nodesOf({ pid: 1, visible: '1,2' }, all)).toEqual([1])
    expect(nodesOf({ pid: 1, local: { rank: 2, world: 3 } }, all)).toEqual([1])
    expect(nodesOf({ pid: 1 }, all)).toEqual([]) // at two nodes, and it has not said which it uses
    expect(nodesOf({ pid: 1 }, [])).toEqual([])
  })
})

describe('trainers', () => {
  test('are found by what launched them', () => {
    const env = {
      LOCAL_RANK: '1',
      LOCAL_WORLD_SIZE: '4',
      CUDA_VISIBLE_DEVICES: '0,1',
      CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
    }
    expect(ownTrainer(7, 3, env)).toEqual({
      pid: 7,
      device: 3,
      visible: '0,1',
      order: 'PCI_BUS_ID',
      local: { rank: 1, world: 4 },
    })
    expect(ownTrainer(7, undefined, { LOCAL_RANK: '4', LOCAL_WORLD_SIZE: '4' }).local).toBeUndefined()
    expect(ownTrainer(7, undefined, { SLURM_LOCALID: '0', SLURM_NTASKS_PER_NODE: '8' }).local).toEqual({
      rank: 0,
      world: 8,
    })
  })

  test('of one engine have their cores and nodes together', async () => {
    const root = server('0-15', {
      '/proc/60/status': status('0-1,8-9'),
      '/proc/61/status': status('4-5,12-13'),
    })
    const look = await lookAtTrainers(
      [
        { pid: 60, device: 0 },
        { pid: 61, device: 2 },
      ],
      root,
    )
    expect(look).toMatchObject({ near: [0, 1], trainers: [0, 1, 8, 9, 4, 5, 12, 13] })
    expect(look.among).toBeUndefined()
    // A process that can't be looked at may be anywhere.
    expect((await lookAtTrainers([{ pid: 62 }], root)).trainers.length).toBe(16)
  })

  test('with workers of their own divide the machine, unless they are bound', async () => {
    const mine = { pid: 70, local: { rank: 1, world: 2 } }
    const unbound = server('0-15', {
      '/proc/70/status': status('0-15', 40),
      '/proc/40/status': status('0-15'),
    })
    expect(await lookAtTrainers([mine], unbound)).toMatchObject({
      among: { rank: 1, world: 2, nodes: [0, 1] },
      near: [1],
    })
    const bound = server('0-3', { '/proc/70/status': status('0-3', 40), '/proc/40/status': status('0-15') })
    expect((await lookAtTrainers([mine], bound)).among).toBeUndefined()
  })
})

describe('the option', () => {
  const read = (given: unknown) => readAffinity(given, () => [0, 1, 2, 3, 8])

  test('is a word, or cores in two spellings', () => {
    expect(read('off')).toBe('off')
    expect(read('auto')).toBe('auto')
    expect(read('1-3,8')).toEqual([1, 2, 3, 8])
    expect(read([8, 1, 8])).toEqual([8, 1])
    expect(showBinding(read('3,1-2'))).toBe('"1-3"')
  })

  test('says which cores are not allowed, and which are', () => {
    expect(() => read('3-5,8')).toThrow(
      /options\.affinity: this process may not use cores 4-5; it may use 0-3,8/,
    )
    expect(() => read([9])).toThrow(/may not use core 9; /)
  })

  test.each([['on'], [''], ['3-1'], [[]], [[1.5]], [['1']], [true], [4], [null]])('is not %j', given => {
    expect(() => read(given)).toThrow(/options\.affinity: expected "off", "auto" or cores such as "2-7,10"/)
  })
})
