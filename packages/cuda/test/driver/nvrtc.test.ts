/** NVRTC works without a GPU: where it is installed, programs are really compiled. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/support/folder.js'
import { MissingError } from '../../../core/basics/errors.js'
import { CudaError } from '../../driver/errors.js'
import { compileOptions, cubinName, withCubin } from '../../driver/kernels.js'
import { compileCubin, nvrtcVersion } from '../../driver/libraries/nvrtc.js'

const source = {
  name: 'twice.cu',
  text: '#include "by.cuh"\nextern "C" __global__ void twice(float* x) { x[threadIdx.x] *= BY; }',
  headers: { 'by.cuh': '#define BY 2.0f\n' },
}

const obtainCubin = (program: typeof source, architecture: string, cache: string): Buffer =>
  withCubin(program, architecture, cache, cubin => Buffer.from(cubin))

function available(): boolean {
  try {
    nvrtcVersion()
    return true
  } catch (error) {
    if (error instanceof MissingError) return false
    throw error
  }
}

describe('the name of a cubin', () => {
  test('is that of the Python client', () => {
    expect(cubinName(source, 'sm_90')).toBe('e724c1575d4179eb93a0ff585f22be47-sm_90.cubin')
  })

  test('depends on architecture, text and headers, and on nothing else', () => {
    const name = cubinName(source, 'sm_90')
    expect(name).toMatch(/^[0-9a-f]{32}-sm_90\.cubin$/)
    expect(cubinName({ ...source }, 'sm_90')).toBe(name)
    expect(cubinName(source, 'sm_80')).not.toBe(name.replace('sm_90', 'sm_80'))
    expect(cubinName({ ...source, text: `${source.text} ` }, 'sm_90')).not.toBe(name)
    expect(cubinName({ ...source, headers: { 'by.cuh': '#define BY 3.0f\n' } }, 'sm_90')).not.toBe(name)
    const both = { 'a.cuh': '1', 'b.cuh': '2' }
    const turned = { 'b.cuh': '2', 'a.cuh': '1' }
    expect(cubinName({ ...source, headers: both }, 'sm_90')).toBe(
      cubinName({ ...source, headers: turned }, 'sm_90'),
    )
  })

  test('a cubin that is there is used as it is', () => {
    const cache = temporaryFolder()
    const first = join(cache, 'kernels', cubinName(source, 'sm_90'))
    if (!available()) return
    obtainCubin(source, 'sm_90', cache)
    writeFileSync(first, 'from the cache')
    expect(obtainCubin(source, 'sm_90', cache).toString()).toBe('from the cache')
  })
})

describe.runIf(available())('NVRTC', () => {
  test('compiles a program with its headers, and keeps the result', () => {
    const cache = temporaryFolder()
    const cubin = obtainCubin(source, 'sm_90', cache)
    expect(cubin.subarray(0, 4).toString('latin1')).toBe('\x7fELF')
    expect(cubin.includes('twice')).toBe(true)
    expect(readFileSync(join(cache, 'kernels', cubinName(source, 'sm_90')))).toEqual(cubin)
  })

  test("the compiler's words are in the error", () => {
    const wrong = { name: 'wrong.cu', text: 'extern "C" __global__ void f() { nonsense(); }' }
    const compile = (): Buffer => compileCubin(wrong, compileOptions('sm_90'))
    expect(compile).toThrow(CudaError)
    expect(compile).toThrow(
      /NVRTC_ERROR_COMPILATION.*wrong\.cu\(1\): error: identifier "nonsense" is undefined/s,
    )
  })

  test('one that is refused is compiled again, and the new one kept', () => {
    const cache = temporaryFolder()
    const good = obtainCubin(source, 'sm_90', cache)
    const path = join(cache, 'kernels', cubinName(source, 'sm_90'))
    writeFileSync(path, 'damaged')
    const load = (cubin: Uint8Array): number => {
      if (Buffer.from(cubin).equals(Buffer.from('damaged')))
        throw new CudaError('cuModuleLoadData', 'CUDA_ERROR_INVALID_IMAGE')
      return cubin.length
    }
    expect(withCubin(source, 'sm_90', cache, load)).toBe(good.length)
    expect(readFileSync(path)).toEqual(good)
  })

  test('a folder that can not be written costs nothing but time', () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    expect(obtainCubin(source, 'sm_90', file).length).toBeGreaterThan(500)
  })
})
