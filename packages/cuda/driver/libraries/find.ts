/**
 * Finds NVIDIA's libraries. They may come with the driver, with a CUDA toolkit, or with a Python package; the first that is
 * found is taken. A library is loaded when `loadLibrary` is first called for it.
 *
 *   1  the folders of $MILLRACE_CUDA_PATH
 *   2  the loader's path (LD_LIBRARY_PATH, ldconfig)
 *   3  CUDA's own folders, /usr/local/cuda*
 *   4  nvidia/<package>/lib, or lib64, of a Python: $VIRTUAL_ENV, $CONDA_PREFIX, what python3 says, where distributions put them
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { LibraryHandle } from 'koffi'
import { MissingError } from '../../../core/basics/errors.js'
import { koffi } from '../../../core/system/native.js'

export type CudaLibrary = keyof typeof LIBRARIES

/** File names, newest first, and what to do where none is found. The driver's own library is never in a toolkit. */
const LIBRARIES = {
  cuda: {
    files: ['libcuda.so.1', 'libcuda.so'],
    ofDriver: true,
    what: 'the NVIDIA driver (libcuda.so.1)',
    install: 'install the driver of the GPU; in a container, start it with --gpus all',
  },
  nvrtc: {
    files: ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so.11.2', 'libnvrtc.so'],
    ofDriver: false,
    what: 'NVRTC, the compiler of CUDA kernels (libnvrtc.so.13 or .12)',
    install: 'run "pip install nvidia-cuda-nvrtc", or install the CUDA toolkit',
  },
  nvjpeg: {
    files: ['libnvjpeg.so.13', 'libnvjpeg.so.12', 'libnvjpeg.so.11', 'libnvjpeg.so'],
    ofDriver: false,
    what: 'nvJPEG (libnvjpeg.so.13 or .12)',
    install: 'run "pip install nvidia-nvjpeg", or install the CUDA toolkit',
  },
  nvcomp: {
    files: ['libnvcomp.so.6', 'libnvcomp.so.5', 'libnvcomp.so.4', 'libnvcomp.so'],
    ofDriver: false,
    what: 'nvCOMP (libnvcomp.so.6, .5 or .4)',
    install: 'run "pip install nvidia-libnvcomp-cu13", or nvidia-libnvcomp-cu12',
  },
} as const

/** The machine as the search sees it; tests give their own. */
export interface Surroundings {
  environment: Readonly<Record<string, string | undefined>>
  /** `x64` or `arm64`, as Node calls them. */
  arch: string
  /** Names in a folder; none where there is no such folder. */
  list(folder: string): string[]
  /** The site-packages of the python3 on the path. Asked for last: starting it takes 20 ms. */
  sitePackages(): string[]
  /** CUDA's major version that the driver can do, where it is known: libraries of a newer one come last. */
  driver?: number
}

/** Every path (or bare name, for the loader to find) under which the library may be, best first. */
export function* candidates(library: CudaLibrary, around: Surroundings): Generator<string, void, undefined> {
  const { ofDriver } = LIBRARIES[library]
  const files = inOrder(LIBRARIES[library].files, around.driver)
  const seen = new Set<string>()
  for (const folder of folders(ofDriver, around)) {
    if (seen.has(folder)) continue
    seen.add(folder)
    const present = folder === LOADER ? undefined : new Set(around.list(folder))
    for (const file of files) {
      if (present === undefined) yield file
      else if (present.has(file)) yield join(folder, file)
    }
  }
}

/** Libraries that the driver is too old for come last: some of them work all the same. */
function inOrder(files: readonly string[], driver = Number.POSITIVE_INFINITY): string[] {
  const tooNew = (file: string): boolean => Number(/\.so\.(\d+)/.exec(file)?.[1] ?? 0) > driver
  return [...files.filter(file => !tooNew(file)), ...files.filter(tooNew)]
}

/** Stands for the loader's own path among the folders. */
const LOADER = ''

function* folders(ofDriver: boolean, around: Surroundings): Generator<string, void, undefined> {
  const { environment, arch, list } = around
  const target = `targets/${arch === 'arm64' ? 'sbsa' : 'x86_64'}-linux/lib`
  for (const given of (environment.MILLRACE_CUDA_PATH ?? '').split(delimiter)) {
    if (given !== '') yield* ['', target, 'lib64', 'lib'].map(part => join(given, part))
  }
  yield LOADER
  if (ofDriver) {
    yield '/usr/lib/wsl/lib'
    return
  }
  // "cuda" is the chosen one, "cuda-13.0" and the like come after it, newest first.
  const toolkits = list('/usr/local').filter(name => /^cuda(-[\d.]+)?$/.test(name))
  toolkits.sort((a, b) =>
    a === 'cuda' ? -1 : b === 'cuda' ? 1 : b.localeCompare(a, 'en', { numeric: true }),
  )
  for (const toolkit of toolkits) yield* [target, 'lib64'].map(part => join('/usr/local', toolkit, part))
  for (const packages of pythonFolders(around)) {
    // nvCOMP alone lies in lib64.
    for (const name of list(join(packages, 'nvidia')).sort())
      yield* ['lib', 'lib64'].map(part => join(packages, 'nvidia', name, part))
  }
}

/** Folders in which Python packages lie. */
function* pythonFolders({
  environment,
  list,
  sitePackages,
}: Surroundings): Generator<string, void, undefined> {
  for (const prefix of [environment.VIRTUAL_ENV, environment.CONDA_PREFIX]) {
    if (prefix) yield* pythonsOf(join(prefix, 'lib'), list, 'site-packages')
  }
  yield* sitePackages()
  yield* pythonsOf('/usr/local/lib', list, 'dist-packages', 'site-packages')
  yield '/usr/lib/python3/dist-packages'
}

function pythonsOf(lib: string, list: Surroundings['list'], ...kinds: string[]): string[] {
  return list(lib)
    .filter(name => /^python3(\.\d+)?$/.test(name))
    .flatMap(name => kinds.map(kind => join(lib, name, kind)))
}

const here: Surroundings = {
  environment: process.env,
  arch: process.arch,
  list: folder => {
    try {
      return readdirSync(folder)
    } catch {
      return []
    }
  },
  sitePackages: () => {
    const program =
      'import sysconfig; print(sysconfig.get_path("purelib")); print(sysconfig.get_path("platlib"))'
    const { stdout } = spawnSync('python3', ['-c', program], { encoding: 'utf8', timeout: 5000 })
    return (stdout ?? '').split('\n').filter(line => line.startsWith('/'))
  },
}

/** Sets the major version of CUDA that the driver can do: 13. */
export function setDriver(major: number): void {
  here.driver = major
}

const loaded = new Map<CudaLibrary, { path: string; library: LibraryHandle }>()

/** Loads the first that can be loaded; the same one from then on. */
export function loadLibrary(name: CudaLibrary): LibraryHandle {
  const known = loaded.get(name)
  if (known !== undefined) return known.library
  const tried: string[] = []
  for (const path of candidates(name, here)) {
    try {
      const library = koffi.load(path)
      loaded.set(name, { path, library })
      return library
    } catch (error) {
      tried.push(
        `${path} (${(error as Error).message.replace('Failed to load shared library: ', '').trim()})`,
      )
    }
  }
  throw missing(name, tried)
}

/** The file that a library was loaded from, for reports. */
export function libraryPath(name: CudaLibrary): string | undefined {
  return loaded.get(name)?.path
}

/** Says where it was looked for, which files were refused, and what to install. One sentence: it may be all a user sees. */
export function missing(name: CudaLibrary, tried: readonly string[]): MissingError {
  const { what, install, ofDriver } = LIBRARIES[name]
  const places = ofDriver
    ? "$MILLRACE_CUDA_PATH and the loader's path"
    : "$MILLRACE_CUDA_PATH, the loader's path, /usr/local/cuda* and the nvidia packages of Python"
  // Names that the loader didn't find say nothing; a file that is there and can't be loaded says why.
  const refused = tried.filter(text => text.startsWith('/'))
  const why = refused.length === 0 ? '' : `; found but not usable: ${refused.join('; ')}`
  return new MissingError(`${what} was not found in ${places}${why}: ${install}`)
}
