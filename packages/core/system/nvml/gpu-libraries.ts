/** Which of NVIDIA's libraries are here, and which version each says it is: for reports. Loads what it reports. */
import { type CudaLibrary, libraryPath, loadLibrary, setDriver } from '../../../cuda/driver/libraries/find.js'
import { bindNvjpeg, nvjpegVersion } from '../../../cuda/driver/libraries/nvjpeg.js'
import { nvrtcVersion } from '../../../cuda/driver/libraries/nvrtc.js'
import { cudaVersionText } from './structs.js'

export interface GpuLibrary {
  /** Its file, or the name under which the loader found it. */
  path: string
  /** `13.0.1`. */
  version: string
}

/** `driver` is the major version of CUDA that the driver serves. Throws a MissingError that says what to install. */
export function gpuLibrary(name: CudaLibrary, driver: number): GpuLibrary {
  if (!Number.isNaN(driver)) setDriver(driver)
  const version = VERSIONS[name]()
  return { path: libraryPath(name) ?? '', version }
}

const VERSIONS: Record<CudaLibrary, () => string> = {
  cuda: () => {
    const version = new Int32Array(1)
    loadLibrary('cuda').func('int cuDriverGetVersion(void *version)')(version)
    return cudaVersionText(version[0])
  },
  nvrtc: nvrtcVersion,
  nvjpeg: () => nvjpegVersion(bindNvjpeg()),
  nvcomp: () => {
    const properties = new Uint32Array(2) // nvcompProperties_t: u32 version, u32 version of CUDA's runtime
    loadLibrary('nvcomp').func('int nvcompGetProperties(void *properties)')(properties)
    const [version] = properties
    return `${Math.floor(version / 1000)}.${Math.floor(version / 100) % 10}.${version % 100}`
  },
}
