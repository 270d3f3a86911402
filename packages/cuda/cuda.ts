/**
 * For programs that run kernels of their own on batches: compile, launch, and a little memory. A program with a CUDA
 * library of its own needs nothing of this: `batch.image.devicePointer` is an address in the device's primary context.
 *
 *   const means = cuda.compile('extern "C" __global__ void means(…) {…}', 'means')
 *   means.launch({ grid: [batch.count], block: [256] }, [batch.image, result, 3 * 224 * 224])
 *   await result.copyToHost()
 *
 * Everything happens on CUDA's default stream, which is also the one that batches are ordered with.
 */

import { DTYPES, type Dtype, elements } from '../core/basics/dtype.js'
import { readDeviceOptions } from '../core/deliver/device-options.js'
import type { DeviceArray } from '../core/deliver/node/device.js'
import { cacheFolder } from '../core/system/files/cache-folder.js'
import { CudaArray, stridesOf } from './device/array.js'
import { CudaDevice, type KernelArgument, type LaunchShape, ourHeaders } from './driver/index.js'

/** A kernel that is ready to be launched. */
export interface CudaKernel {
  /**
   * Puts it on the default stream. A plain number is an `int`, a bigint a pointer or 64-bit integer, a DeviceArray its
   * pointer; `{ f32: 0.5 }` and the like for others.
   */
  launch(shape: LaunchShape, args: readonly KernelArgument[]): void
}

const DEFAULT_STREAM = 0n
const devices = new Map<number, CudaDevice>()

/** The device, opened when it is first used, for as long as the process lives; its context is current afterwards. */
function deviceOf(name: string): CudaDevice {
  const { ordinal } = readDeviceOptions({ device: name })!
  let device = devices.get(ordinal)
  if (device === undefined) {
    device = CudaDevice.open(ordinal, cacheFolder())
    devices.set(ordinal, device)
  }
  device.enter()
  return device
}

/**
 * Compiles CUDA C++ for the device, or takes what was compiled before from the cache folder. `entry` must be declared
 * extern "C" __global__. `#include "millrace.cuh"` gives random numbers that depend on seed and position alone.
 */
function compile(text: string, entry: string, options: { device?: string; name?: string } = {}): CudaKernel {
  const { device = 'cuda', name = `${entry}.cu` } = options
  const gpu = deviceOf(device)
  const kernel = gpu.add({ name, text, headers: ourHeaders() }, entry)
  return {
    launch(shape, args) {
      gpu.enter()
      gpu.launch(kernel, shape, args, DEFAULT_STREAM)
    },
  }
}

/** An array of zeros on the device, for results. `free` gives its memory back. */
function allocate(
  dtype: Dtype,
  shape: readonly number[],
  { device = 'cuda' }: { device?: string } = {},
): DeviceArray {
  const gpu = deviceOf(device)
  const bytes = elements(shape) * DTYPES[dtype].bytes
  const pointer = gpu.allocate(bytes)
  gpu.fill(pointer, 0, bytes, DEFAULT_STREAM)
  return new CudaArray(pointer, dtype, shape, stridesOf(shape), async (from, length) => {
    const to = new Uint8Array(length)
    gpu.enter()
    gpu.read(to, from, DEFAULT_STREAM)
    return to
  })
}

function free(array: DeviceArray, { device = 'cuda' }: { device?: string } = {}): void {
  deviceOf(device).free(array.devicePointer)
}

/** Waits until everything on the default stream is done. */
function synchronize({ device = 'cuda' }: { device?: string } = {}): void {
  deviceOf(device).finishStream(DEFAULT_STREAM)
}

export const cuda = { compile, allocate, free, synchronize } as const
