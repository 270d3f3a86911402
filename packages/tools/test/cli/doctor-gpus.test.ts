/** What `doctor` says about GPUs, on machines that we don't have. */
import { describe, expect, it } from 'vitest'
import {
  type FakeFunctions,
  fails,
  fakeNvml,
  gives32,
  gives64,
  H200,
} from '../../../../test/support/gpu/fake-nvml.js'
import { gpmSupported } from '../../../core/system/nvml/gpm.js'
import { openNvml } from '../../../core/system/nvml/nvml.js'
import { type GpuMachine, gpuFindings } from '../../cli/doctor/gpus.js'

function machine(functions: FakeFunctions | undefined, change: Partial<GpuMachine> = {}): GpuMachine {
  return {
    gpus: 1,
    nvml: async () => functions && openNvml(fakeNvml(functions)),
    gpm: async (nvml, index) => gpmSupported(nvml, index),
    library: async name => ({ path: `lib${name}.so`, version: '13.0' }),
    ...change,
  }
}

const none = async (): Promise<never> => {
  throw new Error('not found')
}

/** The finding of this name as one line: verdict, what is, what to do. */
async function line(what: string, machine: GpuMachine): Promise<string | undefined> {
  const finding = (await gpuFindings(machine)).find(finding => finding.what === what)
  return finding && [finding.verdict, finding.is, finding.todo].filter(part => part).join(' | ')
}

describe('GPUs in the doctor', () => {
  it('are none where there is no driver, and never an error', async () => {
    expect(await gpuFindings(machine(undefined, { gpus: 0 }))).toEqual([
      { what: 'GPU', verdict: 'ok', is: 'none: batches are made in host memory' },
    ])
    expect(await line('GPU', machine({ ...H200, nvmlDeviceGetCount_v2: gives32(0) }, { gpus: 0 }))).toMatch(
      /^ok \| none/,
    )
    expect(await line('GPU', machine(undefined, { gpus: 2 }))).toMatch(
      /^warn \| 2 NVIDIA GPUs, but libnvidia-ml.so.1 .* \| .*--gpus all/,
    )
    expect(await line('GPU', machine({ nvmlInit_v2: fails(18) }))).toMatch(/^warn \| .*restart the machine/)
  })

  it('of this machine are found without failing', async () => {
    expect((await gpuFindings()).length).toBeGreaterThanOrEqual(1)
  })

  it('are each told with driver, memory, link and counters', async () => {
    const found = await gpuFindings(machine(H200))
    expect(found.map(({ what, verdict }) => `${verdict} ${what}`)).toEqual([
      'ok GPU driver',
      'ok GPU 0',
      'ok libcuda',
      'ok NVRTC',
      'ok nvJPEG',
      'ok nvCOMP',
    ])
    expect(found[0].is).toBe('580.95.05, for CUDA up to 13.0; CUDA programs see 1 of 1 GPU')
    expect(found[1].is).toBe('NVIDIA H200, 140 GiB free of 140 GiB, PCIe 5 ×16, measures SM activity (GPM)')
    expect(found[4].is).toBe('13.0 (libnvjpeg.so)')
  })

  it('are data for programs', async () => {
    const [, gpu, , nvrtc] = JSON.parse(JSON.stringify(await gpuFindings(machine(H200))))
    expect(gpu.data).toMatchObject({ name: 'NVIDIA H200', memory: 150_754_820_096, gpm: true })
    expect(gpu.data.now).toMatchObject({ utilization: 87, watts: 512.345 })
    expect(nvrtc.data).toEqual({ path: 'libnvrtc.so', version: '13.0' })
  })

  it('may rest on a slow link, but not work on one', async () => {
    const slow = { ...H200, nvmlDeviceGetCurrPcieLinkGeneration: gives32(1) }
    expect(await line('GPU 0', machine(slow))).toMatch(
      /^warn \| .*PCIe 1 ×16 now; PCIe 5 ×16 possible.* \| its link is slower/,
    )
    const resting = { ...slow, nvmlDeviceGetUtilizationRates: gives64(0n) }
    expect(await line('GPU 0', machine(resting))).toMatch(
      /^ok \| .*PCIe 1 ×16 now, being idle; PCIe 5 ×16 possible/,
    )
    const idle = { ...slow, nvmlDeviceGetCurrentClocksEventReasons: gives64(1n) }
    expect(await line('GPU 0', machine(idle))).toMatch(/^ok \| .*being idle/)
    const narrow = { ...H200, nvmlDeviceGetCurrPcieLinkWidth: gives32(8) }
    expect(await line('GPU 0', machine(narrow))).toMatch(/^warn \| .*PCIe 5 ×8 now/)
    const unknown = { ...H200, nvmlDeviceGetCurrPcieLinkWidth: fails(3) }
    expect(await line('GPU 0', machine(unknown))).toMatch(/^ok \| .*PCIe unknown/)
  })

  it('are warned of when heat or power holds them down, not when the power cap does', async () => {
    const hot = { ...H200, nvmlDeviceGetCurrentClocksEventReasons: gives64(0x20n) }
    expect(await line('GPU 0', machine(hot))).toMatch(/^warn .*\(thermal slowdown\): look at cooling/)
    expect(await line('GPU 0', machine(H200))).toMatch(/^ok/)
  })

  it('don’t hide each other’s troubles', async () => {
    const functions = {
      ...H200,
      nvmlDeviceGetCount_v2: gives32(2),
      nvmlDeviceGetHandleByIndex_v2: (index: number, device: Buffer) => {
        device.writeBigUInt64LE(1n)
        return index === 0 ? 15 : 0
      },
    }
    expect(await line('GPU 0', machine(functions))).toMatch(/^warn \| .*NVML_ERROR_GPU_IS_LOST/)
    expect(await line('GPU 1', machine(functions))).toMatch(/^ok \| NVIDIA H200/)
  })

  it('say how many of them CUDA sees', async () => {
    const two = { ...H200, nvmlDeviceGetCount_v2: gives32(2) }
    expect(await line('GPU driver', machine(two))).toMatch(/^ok .*CUDA programs see 1 of 2 GPUs/)
    expect(await line('GPU driver', machine(two, { gpus: 0 }))).toMatch(/^warn .*CUDA_VISIBLE_DEVICES/)
  })

  it('say what a missing library costs, and the package for this driver', async () => {
    const missing = machine(H200, { library: none })
    expect(await line('nvJPEG', missing)).toBe(
      'warn | not found, so JPEGs are decoded on the CPU | pip install nvidia-nvjpeg, or set MILLRACE_CUDA_PATH to its folder',
    )
    expect(await line('NVRTC', missing)).toMatch(/CPU decodes and augments \| pip install nvidia-cuda-nvrtc,/)
    expect(await line('nvCOMP', missing)).toMatch(
      /^ok \| not found, so .* \(pip install nvidia-libnvcomp-cu13,/,
    )
    expect(await line('libcuda', missing)).toMatch(/nothing can be put on the GPU \| .*--gpus all/)
    const older = { ...H200, nvmlSystemGetCudaDriverVersion_v2: gives32(12040) }
    expect(await line('nvJPEG', machine(older, { library: none }))).toMatch(/pip install nvidia-nvjpeg-cu12,/)
    expect(await line('NVRTC', machine(older))).toBe(
      'warn | 13.0 (libnvrtc.so), too new for this driver, so no kernels can be compiled and the CPU decodes and augments' +
        ' | update the driver, or pip install nvidia-cuda-nvrtc-cu12',
    )
  })
})
