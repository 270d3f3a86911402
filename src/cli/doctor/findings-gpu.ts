/** What `doctor` finds of GPUs: each one with its link, the driver, the libraries, and what the missing ones cost. */

import type { GpuDescription, GpuReading, Nvml, PcieLink } from '../../system/nvml/nvml.js'
import { gpuCount } from '../../system/process/limits.js'
import { bytes, counted } from '../units.js'
import type { Finding } from './finding.js'

export type LibraryName = keyof typeof LIBRARIES

/** The machine as it is asked; tests give another. */
export interface GpuMachine {
  /** GPUs by their device files, as CUDA would see them. */
  gpus: number
  /** CUDA_VISIBLE_DEVICES. */
  visible: string | undefined
  /** undefined where NVML is not installed; throws where it does not work. */
  nvml(): Promise<Nvml | undefined>
  /** Whether NVML reaches the counters of true activity. */
  gpm(nvml: Nvml, index: number): Promise<boolean>
  /** Throws where it is not found. `driver` is the major version of CUDA that the driver serves. */
  library(name: LibraryName, driver: number): Promise<{ path: string; version: string }>
}

const thisMachine = (): GpuMachine => ({
  gpus: gpuCount(),
  visible: process.env.CUDA_VISIBLE_DEVICES,
  nvml: async () => (await import('../../system/nvml/nvml.js')).openNvml(),
  gpm: async (nvml, index) => (await import('../../system/nvml/gpm.js')).gpmSupported(nvml, index),
  library: async (name, driver) =>
    (await import('../../system/nvml/gpu-libraries.js')).gpuLibrary(name, driver),
})

/** What is done without it, and the package that brings it: its name for CUDA 13 and later, and for 12. */
const LIBRARIES = {
  cuda: {
    what: 'libcuda',
    without: 'nothing can be put on the GPU',
    packages: undefined,
  },
  nvrtc: {
    what: 'NVRTC',
    without: 'no kernels can be compiled and the CPU decodes and augments',
    packages: ['nvidia-cuda-nvrtc', 'nvidia-cuda-nvrtc-cu12'],
  },
  nvjpeg: {
    what: 'nvJPEG',
    without: 'JPEGs are decoded on the CPU',
    packages: ['nvidia-nvjpeg', 'nvidia-nvjpeg-cu12'],
  },
  nvcomp: {
    what: 'nvCOMP',
    without: 'compressed arrays, if there are any, are decompressed on the CPU',
    packages: ['nvidia-libnvcomp-cu13', 'nvidia-libnvcomp-cu12'],
  },
} as const

/** Those that few feeds need: no remark is made where they are missing. */
const SELDOM: readonly LibraryName[] = ['nvcomp']

const CONTAINER = 'in a container, start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility'

export async function gpuFindings(machine = thisMachine()): Promise<Finding[]> {
  try {
    const nvml = await machine.nvml()
    if (nvml === undefined || nvml.count === 0) return [withoutNvml(machine.gpus)]
    return await withNvml(machine, nvml).finally(() => nvml.close())
  } catch (error) {
    return [{ what: 'GPU', verdict: 'warn', is: oneLine(error) }]
  }
}

async function withNvml(machine: GpuMachine, nvml: Nvml): Promise<Finding[]> {
  const indices = [...Array(nvml.count).keys()]
  return [
    driver(nvml),
    ...(await Promise.all(indices.map(index => gpu(machine, nvml, index)))),
    ...visible(machine, nvml.count),
    ...(await libraries(machine, nvml.cuda)),
  ]
}

function withoutNvml(gpus: number): Finding {
  if (gpus === 0) return { what: 'GPU', verdict: 'ok', is: 'none: batches are made in host memory' }
  return {
    what: 'GPU',
    verdict: 'warn',
    is: `${counted(gpus, 'NVIDIA GPU')}, but libnvidia-ml.so.1 of the driver is not there`,
    todo: CONTAINER,
  }
}

function driver(nvml: Nvml): Finding {
  const { driver, cuda } = nvml
  return {
    what: 'GPU driver',
    verdict: 'ok',
    is: `${driver}, for CUDA up to ${cuda || '?'}`,
    data: { driver, cuda },
  }
}

async function gpu(machine: GpuMachine, nvml: Nvml, index: number): Promise<Finding> {
  const what = `GPU ${index}`
  try {
    const [gpu, now, gpm] = [nvml.describe(index), nvml.read(index), await machine.gpm(nvml, index)]
    const is = [
      gpu.name,
      `${bytes(now.memory.free)} free of ${bytes(gpu.memory)}`,
      link(gpu, now),
      gpm ? 'measures SM activity (GPM)' : 'no GPM: only says whether any kernel ran',
    ].join(', ')
    const data = { ...gpu, now, gpm }
    const slow = hindrance(gpu, now)
    return slow === undefined
      ? { what, verdict: 'ok', is, data }
      : { what, verdict: 'warn', is, todo: slow, data }
  } catch (error) {
    return { what, verdict: 'warn', is: oneLine(error) }
  }
}

function link(gpu: GpuDescription, now: GpuReading): string {
  const most = pcie(gpu.pcie)
  if (Number.isNaN(gpu.pcie.width) || Number.isNaN(now.pcie.width)) return 'PCIe unknown'
  if (!narrower(now.pcie, gpu.pcie)) return most
  return `${pcie(now.pcie)} now${idle(now) ? ', being idle' : ''}; ${most} possible`
}

const pcie = ({ generation, width }: PcieLink) => `PCIe ${generation} ×${width}`

function narrower(now: PcieLink, most: PcieLink): boolean {
  return now.generation < most.generation || now.width < most.width
}

/** An idle GPU lowers its link and its clocks to save power: that says nothing about what it can do. */
function idle(now: GpuReading): boolean {
  return now.clockEvents.includes('idle') || !(now.utilization.gpu > 0)
}

/** What slows a GPU at work, and what to do about it. */
function hindrance(gpu: GpuDescription, now: GpuReading): string | undefined {
  if (idle(now)) return undefined
  if (narrower(now.pcie, gpu.pcie))
    return 'its link is slower than it could be, and so are copies: reseat the card, look at riser, slot and BIOS'
  const heat = now.clockEvents.filter(event => /thermal|brake|hardware/.test(event))
  return heat.length > 0
    ? `its clocks are held down (${heat.join(', ')}): look at cooling and power`
    : undefined
}

function visible({ visible, gpus }: GpuMachine, count: number): Finding[] {
  if (visible === undefined || gpus >= count) return []
  const is = `CUDA_VISIBLE_DEVICES=${visible}: CUDA programs see ${gpus} of ${counted(count, 'GPU')}`
  return [{ what: 'visible GPUs', verdict: gpus === 0 ? 'warn' : 'ok', is }]
}

async function libraries(machine: GpuMachine, cuda: string): Promise<Finding[]> {
  const names = Object.keys(LIBRARIES) as LibraryName[]
  return await Promise.all(names.map(name => library(machine, name, Number.parseInt(cuda, 10))))
}

/** `major` is the newest CUDA that the driver serves; a library for a later one is found, but can't be used. */
async function library(machine: GpuMachine, name: LibraryName, major: number): Promise<Finding> {
  const { what, without, packages } = LIBRARIES[name]
  const install = packages === undefined ? CONTAINER : `pip install ${packages[major < 13 ? 1 : 0]}`
  try {
    const { path, version } = await machine.library(name, major)
    const is = version === '' ? path : `${version} (${path})`
    const data = { path, version }
    if (!(Number.parseInt(version, 10) > major)) return { what, verdict: 'ok', is, data }
    const wrong = `${is}, too new for this driver, so ${without}`
    return { what, verdict: 'warn', is: wrong, todo: `update the driver, or ${install}`, data }
  } catch (error) {
    const todo = packages === undefined ? install : `${install}, or set MILLRACE_CUDA_PATH to its folder`
    const verdict = SELDOM.includes(name) ? 'ok' : 'warn'
    return { what, verdict, is: `not found, so ${without}`, todo, data: { problem: oneLine(error) } }
  }
}

function oneLine(error: unknown): string {
  return (error as Error).message.split('\n')[0]
}
