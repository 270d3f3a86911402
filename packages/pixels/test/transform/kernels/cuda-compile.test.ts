/** All CUDA kernels compile for GPUs, where NVRTC is there to do it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MissingError } from '../../../../core/basics/errors.js'
import { compileOptions, readSource } from '../../../../cuda/driver/kernels.js'
import { compileCubin, nvrtcVersion } from '../../../../cuda/driver/libraries/nvrtc.js'

function withoutNvrtc(): string | undefined {
  try {
    nvrtcVersion()
    return undefined
  } catch (error) {
    if (error instanceof MissingError) return 'there is no NVRTC to compile kernels with'
    throw error
  }
}
const missing = withoutNvrtc()

describe.skipIf(missing)(`kernels for GPUs${missing ? `: ${missing}` : ''}`, () => {
  const support = join(import.meta.dirname, '../../../../../test/support/gpu')
  const philox = {
    name: 'philox.cu',
    text: readFileSync(join(support, 'philox.cu'), 'utf8'),
    headers: readSource('mix.cu').headers!,
  }
  it.each(['sm_80', 'sm_90'])('compile for %s', architecture => {
    const sources = [...['picture.cu', 'mix.cu', 'synthetic.cu'].map(name => readSource(name)), philox]
    for (const source of sources) {
      const cubin = compileCubin(source, compileOptions(architecture))
      expect(cubin.subarray(0, 4).toString('latin1')).toBe('\x7fELF')
      expect(cubin.includes(source.name.replace('.cu', ''))).toBe(true)
    }
  })
})
