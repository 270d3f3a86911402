/**
 * Steps: what will be done to one sample, as plain data. Operators *choose* steps from the sample's size and a
 * keyed random source (pure, before any pixel is decoded); executors *apply* them. The same steps drive the CPU
 * kernels, a following mask, boxes or points, and the GPU's parameter rows.
 */

export interface Size {
  width: number
  height: number
}

export type Filter = 'nearest' | 'bilinear' | 'bicubic'

/** May reach outside: zeros there. `centred`: of the boxes, those whose middle lies outside are dropped. */
export interface CropStep {
  do: 'crop'
  x: number
  y: number
  width: number
  height: number
  centred?: boolean
}

/** Moves pixels: followed by masks, boxes and points. */
export type GeometryStep =
  | CropStep
  | { do: 'resize'; width: number; height: number; filter: Filter; antialias: boolean }
  | { do: 'flip'; axis: 'horizontal' | 'vertical' }
  | {
      do: 'pad'
      left: number
      top: number
      right: number
      bottom: number
      mode: 'constant' | 'edge' | 'reflect' | 'symmetric'
      fill: number[]
    }
  /**
   * Inverse affine map about the centre, output pixel → input pixel: [a b c d e f], as in torchvision's
   * `_get_inverse_affine_matrix`. An empty `fill` is torchvision's None: zeros, blended by the filter alone.
   */
  | { do: 'affine'; matrix: readonly number[]; width: number; height: number; filter: Filter; fill: number[] }
  /** Output pixel → input pixel, x' = (ax + by + c) / (gx + hy + 1), y' = (dx + ey + f) / …, as in torchvision. */
  | { do: 'perspective'; coefficients: readonly number[]; filter: Filter; fill: number[] }
  /** Displacements by blurred noise, along x and y: their strength, and the sigmas of the blur. */
  | {
      do: 'elastic'
      seed: number
      alpha: readonly [number, number]
      sigma: readonly [number, number]
      filter: Filter
      fill: number[]
    }

/** Changes values: touches images only. */
export type ColorStep =
  | { do: 'brightness' | 'contrast' | 'saturation' | 'hue' | 'sharpness'; factor: number }
  | { do: 'grayscale' }
  | { do: 'autocontrast' | 'equalize' | 'invert' }
  /** Channel c becomes what channel order[c] was. */
  | { do: 'permute'; order: readonly number[] }
  | { do: 'posterize'; bits: number }
  | { do: 'solarize'; threshold: number }
  | { do: 'blur'; kernelX: number; kernelY: number; sigmaX: number; sigmaY: number }

/** At the end, on the way into the slot. */
export type FinalStep =
  | { do: 'normalize'; mean: readonly number[]; std: readonly number[] } // of values scaled to 0…1
  | {
      do: 'erase'
      x: number
      y: number
      width: number
      height: number
      value: readonly number[] | 'random'
      seed: number
    }

export type Step = GeometryStep | ColorStep | FinalStep

/** The size of a sample once `step` is done. */
export function sizeAfter(step: Step, size: Size): Size {
  switch (step.do) {
    case 'crop':
    case 'resize':
    case 'affine':
      return { width: step.width, height: step.height }
    case 'pad':
      return {
        width: size.width + step.left + step.right,
        height: size.height + step.top + step.bottom,
      }
    default:
      return size
  }
}
