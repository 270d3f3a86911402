/** Files and versions of NVIDIA's libraries on this machine, for reports. Loads the libraries that it reports. */
import { cudaVersionText } from '../../../core/system/nvml/nvml.js'
import { type CudaLibrary, libraryPath, loadLibrary, setDriver } from './find.js'
import { type NativeLibrary, nvcompVersion, versionOf } from './nvcomp.js'
import { bindNvjpeg, nvjpegVersion } from './nvjpeg.js'
import { nvrtcVersion } from './nvrtc.js'

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
  nvcomp: () => nvcompVersion(versionOf(loadLibrary('nvcomp') as NativeLibrary)),
}
