/** The simulated GPU's kernels as the real ones, compiled for the CPU (cuda-host.ts), on the memory of the simulation. */
import { DTYPE_CODES, KERNELS } from '../../../bench/gpu/launch.mjs'
import { DTYPES, type Dtype } from '../../../packages/core/basics/dtype.js'
import { addressOf, koffi } from '../../../packages/core/system/native.js'
import type { Blocks, KernelArgument } from '../../../packages/cuda/driver/index.js'
import type { SimulatedGpu, SimulatedKernel } from './simulated-gpu.js'

/** With one thread, a block has nobody to wait for: any number gives the same. */
const THREADS = 1

type Launch = (kernel: number, blocks: number, threads: number, args: BigUint64Array) => void

/** Kernels by name, of the library at a path. */
export function compiledKernels(library: string): Map<string, SimulatedKernel> {
  const signature =
    'void launch(uint32_t kernel, uint32_t blocks, uint32_t threads, const uint64_t *arguments)'
  const launch: Launch = koffi.load(library).func(signature)
  return new Map([
    ['picture', (gpu, blocks, args) => picture(launch, gpu, blocks, args)],
    ['mix', (gpu, blocks, args) => mix(launch, gpu, blocks, args)],
  ])
}

function picture(launch: Launch, gpu: SimulatedGpu, blocks: Blocks, args: readonly KernelArgument[]): void {
  const [words, count, code, hwc, width, height] = [1, 2, 9, 10, 11, 12].map(i => Number(args[i]))
  const [rows, pictures, scratch, out, lookup] = [0, 3, 4, 7, 8].map(i => args[i] as bigint)
  const parts = args.slice(5, 7) as bigint[]
  const stretch = 2n * parts[0] + parts[1]
  const heads = new Uint32Array(gpu.at(rows, count * words * 4).slice().buffer)
  const decoded = new BigUint64Array(gpu.at(pictures, count * 8).slice().buffer).map((address, i) => {
    const [form, , storedWidth, storedHeight] = heads.subarray(i * words)
    return form === 0 || address === 0n ? 0n : real(gpu, address, storedWidth * storedHeight * 3)
  })
  const element = bytesOf(code)
  launch(
    KERNELS.picture,
    blocks as number,
    THREADS,
    BigUint64Array.from([
      ...[real(gpu, rows, count * words * 4), BigInt(words), BigInt(count), addressOf(decoded.buffer)],
      ...[real(gpu, scratch, (blocks as number) * Number(stretch)), ...parts],
      ...[real(gpu, out, count * 3 * width * height * element), real(gpu, lookup, 768 * element)],
      ...[code, hwc, width, height].map(BigInt),
    ]),
  )
}

function mix(launch: Launch, gpu: SimulatedGpu, blocks: Blocks, args: readonly KernelArgument[]): void {
  const [which, count, code, hwc, width, height] = [1, 2, 5, 6, 7, 8].map(i => Number(args[i]))
  const [rows, from, to] = [0, 3, 4].map(i => args[i] as bigint)
  const bytes = count * 3 * width * height * bytesOf(code)
  launch(
    KERNELS.mix,
    blocks as number,
    THREADS,
    BigUint64Array.from([
      ...[real(gpu, rows, 128), BigInt(which), BigInt(count), real(gpu, from, bytes), real(gpu, to, bytes)],
      ...[code, hwc, width, height].map(BigInt),
    ]),
  )
}

/** Where bytes at an address of the simulation lie in this process; they must all be somebody's. */
function real(gpu: SimulatedGpu, address: bigint, bytes: number): bigint {
  const found = gpu.at(address, bytes)
  return addressOf(found.buffer as ArrayBuffer) + BigInt(found.byteOffset)
}

function bytesOf(code: number): number {
  const [dtype] = Object.entries(DTYPE_CODES).find(([, other]) => other === code)!
  return DTYPES[dtype as Dtype].bytes
}
