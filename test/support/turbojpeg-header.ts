/** What libturbojpeg says about a JPEG, to compare our own reading of the header with. */
import {
  INIT_DECOMPRESS,
  must,
  openHandle,
  PARAM,
  SAMPLINGS,
  type Subsampling,
  turboLibrary,
} from '../../packages/core/system/codecs/turbojpeg-library.js'

const COLORSPACES = ['rgb', 'ycbcr', 'gray', 'cmyk', 'ycck'] as const

/** What the library says about a JPEG. */
export interface TurboHeader {
  width: number
  height: number
  /** Undefined for combinations that have no name. */
  subsampling: Subsampling | undefined
  colorspace: 'rgb' | 'ycbcr' | 'gray' | 'cmyk' | 'ycck'
  /** Bits a component: 8, or 12 and up for medical and lossless files. */
  precision: number
  progressive: boolean
  lossless: boolean
}

export function turboHeader(jpeg: Uint8Array): TurboHeader {
  const turbo = turboLibrary()
  const handle = openHandle(turbo, INIT_DECOMPRESS)
  try {
    must(turbo.header(handle, jpeg, jpeg.length), turbo, handle)
    const get = (param: number) => turbo.get(handle, param)
    return {
      width: get(PARAM.width),
      height: get(PARAM.height),
      subsampling: SAMPLINGS[get(PARAM.subsampling)],
      colorspace: COLORSPACES[get(PARAM.colorspace)],
      precision: get(PARAM.precision),
      progressive: get(PARAM.progressive) === 1,
      lossless: get(PARAM.lossless) === 1,
    }
  } finally {
    turbo.destroy(handle)
  }
}
