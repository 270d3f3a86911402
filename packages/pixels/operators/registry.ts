/**
 * Every operator of pictures and of batches, in the order in which they are listed. Names and meaning are those of torchvision's
 * transforms v2; sizes are [height, width]. An operator is its folder and its line here; the rest is made of them: validation,
 * the builders' methods, the GPU's dispatch, the tables of docs/define.md.
 *
 * The parsed parameters are the normal form that other rooms read, with every shorthand written out: `fill` has
 * three channels (masks use the first), `padding` is [left, top, right, bottom], `degrees` is [low, high], and so on.
 */
import type { Written } from '../../core/basics/shape.js'
import { affine, rotate } from './affine/operator.js'
import { autoAugment, randAugment, trivialAugment } from './augment/operator.js'
import { autocontrast } from './autocontrast/operator.js'
import { colorJitter, photometricDistort } from './colorJitter/operator.js'
import { centerCrop, randomCrop, randomResizedCrop } from './crop/operator.js'
import { elastic } from './elastic/operator.js'
import { equalize } from './equalize/operator.js'
import { flip } from './flip/operator.js'
import { gaussianBlur } from './gaussianBlur/operator.js'
import { gaussianNoise } from './gaussianNoise/operator.js'
import { grayscale } from './grayscale/operator.js'
import { invert } from './invert/operator.js'
import { iouCrop } from './iouCrop/operator.js'
import { cutmix, mixup } from './mix/operator.js'
import { mosaic } from './mosaic/operator.js'
import { normalize } from './normalize/operator.js'
import type { PictureOperator } from './operator.js'
import { pad } from './pad/operator.js'
import { perspective } from './perspective/operator.js'
import { posterize } from './posterize/operator.js'
import { randomErasing } from './randomErasing/operator.js'
import { resize } from './resize/operator.js'
import { scaleJitter } from './scaleJitter/operator.js'
import { sharpness } from './sharpness/operator.js'
import { solarize } from './solarize/operator.js'
import { zoomOut } from './zoomOut/operator.js'

export const OPERATORS = {
  resize,
  centerCrop,
  randomCrop,
  randomResizedCrop,
  pad,
  flip,
  rotate,
  affine,
  perspective,
  elastic,
  zoomOut,
  iouCrop,
  scaleJitter,
  colorJitter,
  grayscale,
  gaussianBlur,
  gaussianNoise,
  autocontrast,
  posterize,
  solarize,
  equalize,
  invert,
  sharpness,
  trivialAugment,
  randAugment,
  autoAugment,
  photometricDistort,
  randomErasing,
  normalize,
  mixup,
  mosaic,
  cutmix,
}

export type OperatorName = keyof typeof OPERATORS
/** What may be written for them. */
export type OperatorOptions<N extends OperatorName> = Written<(typeof OPERATORS)[N]['keys']>

/** What others call the operators, in small letters without `_`, and what they are called here. */
export function namesElsewhere(): Record<string, string> {
  const table: Readonly<Record<string, Pick<PictureOperator, 'torchvision' | 'elsewhere'>>> = OPERATORS
  const names: Record<string, string> = {}
  for (const [name, { torchvision = {}, elsewhere = {} }] of Object.entries(table)) {
    for (const transform of Object.keys(torchvision))
      if (transform.toLowerCase() !== name.toLowerCase()) names[transform.toLowerCase()] = name
    for (const [other, more] of Object.entries(elsewhere)) names[other] = `${name}${more}`
  }
  return names
}
