/** What `doctor` checks of GPUs: the driver, each GPU with its link, and the libraries. */
import type { Nvml, PcieLink } from '../../../core/system/nvml/nvml.js'
import { gpuCount } from '../../../core/system/process/limits.js'
import { bytes, counted } from '../units.js'
import { type Check, type Finding, findAll, type Look } from './check.js'

/** The machine as it is asked; tests give another. */
export interface GpuMachine {
  /** GPUs by their device files, as CUDA would see them. */
  gpus: number
  /** undefined where NVML is not installed; throws where it does not work. */
  nvml(): Promise<Nvml | undefined>
  /** Whether NVML reaches the counters of true activity. */
  gpm(nvml: Nvml, index: number): Promise<boolean>
  /** Throws where it is not found. `driver` is the major version of CUDA that the driver serves. */
  library(name: LibraryName, driver: number): Promise<{ path: string; version: string }>
}

const thisMachine = (): GpuMachine => ({
  gpus: gpuCount(),
  nvml: async () => (await import('../../../core/system/nvml/nvml.js')).openNvml(),
  gpm: async (nvml, index) => (await import('../../../core/system/nvml/gpm.js')).gpmSupported(nvml, index),
  library: async (name, driver) =>
    (await import('../../../cuda/driver/libraries/versions.js')).gpuLibrary(name, driver),
})

const CONTAINER = 'in a container, start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility'

/** What is done without each, and the package that brings it: its name for CUDA 13 and later, and for 12. */
const LIBRARIES = [
  ['cuda', 'libcuda', 'nothing can be put on the GPU', undefined],
  [
    ...(['nvrtc', 'NVRTC', 'no kernels can be compiled and the CPU decodes and augments'] as const),
    ['nvidia-cuda-nvrtc', 'nvidia-cuda-nvrtc-cu12'],
  ],
  ['nvjpeg', 'nvJPEG', 'JPEGs are decoded on the CPU', ['nvidia-nvjpeg', 'nvidia-nvjpeg-cu12']],
  [
    ...(['nvcomp', 'nvCOMP', 'compressed arrays, if there are any, are decompressed on the CPU'] as const),
    ['nvidia-libnvcomp-cu13', 'nvidia-libnvcomp-cu12'],
  ],
] as const
type Library = (typeof LIBRARIES)[number]
export type LibraryName = Library[0]

export async function gpuFindings(machine = thisMachine()): Promise<Finding[]> {
  const { gpus } = machine
  let nvml: Nvml | undefined
  try {
    nvml = await machine.nvml()
  } catch (error) {
    return [{ what: 'GPU', verdict: 'warn', is: (error as Error).message.split('\n')[0] }]
  }
  if (nvml === undefined || nvml.count === 0) {
    if (gpus === 0) return [{ what: 'GPU', verdict: 'ok', is: 'none: batches are made in host memory' }]
    const is = `${counted(gpus, 'NVIDIA GPU')}, but libnvidia-ml.so.1 of the driver is not there`
    return [{ what: 'GPU', verdict: 'warn', is, todo: CONTAINER }]
  }
  const { driver, cuda, count } = nvml
  const checks: Check<Nvml>[] = [
    {
      what: 'GPU driver',
      look: () => ({
        is: `${driver}, for CUDA up to ${cuda || '?'}; CUDA programs see ${gpus} of ${counted(count, 'GPU')}`,
        todo: gpus === 0 && 'look at CUDA_VISIBLE_DEVICES: it leaves none',
        data: { driver, cuda, gpus },
      }),
    },
    ...Array.from({ length: count }, (_, index) => {
      return { what: `GPU ${index}`, look: (nvml: Nvml) => gpu(machine, nvml, index) }
    }),
    ...LIBRARIES.map(library => {
      return { what: library[1], look: () => libraryOf(machine, library, Number.parseInt(cuda, 10)) }
    }),
  ]
  return findAll(checks, nvml).finally(() => nvml.close())
}

async function gpu(machine: GpuMachine, nvml: Nvml, index: number): Promise<Look> {
  const [gpu, now, gpm] = [nvml.describe(index), nvml.read(index), await machine.gpm(nvml, index)]
  const narrow = now.pcie.generation < gpu.pcie.generation || now.pcie.width < gpu.pcie.width
  // An idle GPU lowers its link and its clocks to save power: that says nothing about what it can do.
  const idle = now.clockEvents.includes('idle') || !(now.utilization > 0)
  const heat = now.clockEvents.filter(event => /thermal|brake|hardware/.test(event))
  const pcie = ({ generation, width }: PcieLink) => `PCIe ${generation} ×${width}`
  const link = narrow
    ? `${pcie(now.pcie)} now${idle ? ', being idle' : ''}; ${pcie(gpu.pcie)} possible`
    : pcie(gpu.pcie)
  const advice = narrow
    ? 'its link is slower than it could be, and so are copies: reseat the card, look at riser, slot and BIOS'
    : heat.length > 0 && `its clocks are held down (${heat.join(', ')}): look at cooling and power`
  return {
    is: [
      gpu.name,
      `${bytes(now.memory.free)} free of ${bytes(gpu.memory)}`,
      Number.isNaN(gpu.pcie.width + now.pcie.width) ? 'PCIe unknown' : link,
      gpm ? 'measures SM activity (GPM)' : 'no GPM: only says whether any kernel ran',
    ].join(', '),
    todo: !idle && advice,
    data: { ...gpu, now, gpm },
  }
}

/** `major` is the newest CUDA that the driver serves; a library for a later one is found, but can't be used. */
async function libraryOf(
  machine: GpuMachine,
  [name, , without, packages]: Library,
  major: number,
): Promise<Look> {
  const install = packages === undefined ? CONTAINER : `pip install ${packages[major < 13 ? 1 : 0]}`
  try {
    const { path, version } = await machine.library(name, major)
    const is = version === '' ? path : `${version} (${path})`
    const data = { path, version }
    if (!(Number.parseInt(version, 10) > major)) return { is, data }
    return {
      is: `${is}, too new for this driver, so ${without}`,
      todo: `update the driver, or ${install}`,
      data,
    }
  } catch (error) {
    const where = packages === undefined ? install : `${install}, or set MILLRACE_CUDA_PATH to its folder`
    const is = `not found, so ${without}`
    const data = { problem: (error as Error).message.split('\n')[0] }
    // Few feeds need nvCOMP: where it is missing, no remark is made.
    return name === 'nvcomp' ? { is: `${is} (${where})`, data } : { is, todo: where, data }
  }
}
