/** Where NVIDIA's libraries are looked for, and what is said when they are not there. */
import { describe, expect, test } from 'vitest'
import { MissingError } from '../../../core/basics/errors.js'
import { candidates, missing, type Surroundings } from '../../driver/libraries/find.js'

/** A machine with these files. */
function machine(
  files: readonly string[],
  given: Partial<Surroundings> = {},
): Surroundings & { asked: number } {
  const around = {
    environment: {},
    arch: 'x64',
    asked: 0,
    list: (folder: string) => {
      const inside = files.filter(file => file.startsWith(`${folder}/`))
      return [...new Set(inside.map(file => file.slice(folder.length + 1).split('/')[0]))]
    },
    sitePackages: () => {
      around.asked++
      return ['/py/site-packages']
    },
    ...given,
  }
  return around
}

const LOADER_NVRTC = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so.11.2', 'libnvrtc.so']

describe('candidates', () => {
  test('the named folder, the loader, the toolkits newest first, then Python', () => {
    const around = machine(
      [
        '/my/cuda/lib64/libnvrtc.so.12',
        '/usr/local/cuda/lib64/libnvrtc.so',
        '/usr/local/cuda-12.9/targets/x86_64-linux/lib/libnvrtc.so.12',
        '/usr/local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13',
        '/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13',
        '/py/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
        '/usr/local/lib/python3.11/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
        '/usr/local/cuda-13.0/targets/sbsa-linux/lib/libnvrtc.so.13',
      ],
      { environment: { MILLRACE_CUDA_PATH: '/none:/my/cuda', VIRTUAL_ENV: '/venv' } },
    )
    expect([...candidates('nvrtc', around)]).toEqual([
      '/my/cuda/lib64/libnvrtc.so.12',
      ...LOADER_NVRTC,
      '/usr/local/cuda/lib64/libnvrtc.so',
      '/usr/local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13',
      '/usr/local/cuda-12.9/targets/x86_64-linux/lib/libnvrtc.so.12',
      '/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13',
      '/py/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
      '/usr/local/lib/python3.11/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12',
    ])
  })

  test("what is newer than the driver comes after what isn't", () => {
    const around = machine([], { driver: 12 })
    expect([...candidates('nvjpeg', around)]).toEqual([
      'libnvjpeg.so.12',
      'libnvjpeg.so.11',
      'libnvjpeg.so',
      'libnvjpeg.so.13',
    ])
  })

  test("nvCOMP's package has a folder of another name", () => {
    const file = '/py/site-packages/nvidia/libnvcomp/lib64/libnvcomp.so.6'
    expect([...candidates('nvcomp', machine([file], { driver: 13 }))].at(-1)).toBe(file)
  })

  test('Arm servers have their own folder', () => {
    const files = ['/usr/local/cuda/targets/sbsa-linux/lib/libnvjpeg.so.13']
    expect([...candidates('nvjpeg', machine(files, { arch: 'arm64' }))]).toContain(files[0])
    expect([...candidates('nvjpeg', machine(files))]).not.toContain(files[0])
  })

  test("the driver's library is not looked for in toolkits, whose copy is a stub", () => {
    const around = machine(['/usr/local/cuda/lib64/libcuda.so.1', '/usr/lib/wsl/lib/libcuda.so.1'])
    expect([...candidates('cuda', around)]).toEqual([
      'libcuda.so.1',
      'libcuda.so',
      '/usr/lib/wsl/lib/libcuda.so.1',
    ])
  })

  test('Python is started only when nothing came before', () => {
    const around = machine(['/usr/local/cuda/lib64/libnvrtc.so.13'])
    const search = candidates('nvrtc', around)
    for (let i = 0; i <= LOADER_NVRTC.length; i++) search.next()
    expect(around.asked).toBe(0)
    search.next()
    expect(around.asked).toBe(1)
  })
})

test('the error is one sentence: what, where, and what to do', () => {
  const error = missing('cuda', ['libcuda.so.1 (no such file)'])
  expect(error).toBeInstanceOf(MissingError)
  expect(error.message).toBe(
    "the NVIDIA driver (libcuda.so.1) was not found in $MILLRACE_CUDA_PATH and the loader's path: " +
      'install the driver of the GPU; in a container, start it with --gpus all',
  )
  expect(missing('nvjpeg', ['/opt/libnvjpeg.so.13 (wrong ELF class)']).message).toContain(
    'found but not usable: /opt/libnvjpeg.so.13 (wrong ELF class): run "pip install nvidia-nvjpeg"',
  )
})
