/** AutoAugment: the policies of torchvision. A policy is a list of pairs of changes; one pair is chosen for each picture. */
import type { Change } from './changes.js'

/** A change, its probability, and its bin of ten. */
type Entry = readonly [change: Change, p: number, bin: number]
type Pair = readonly [Entry, Entry]

export const BINS = 10

export const POLICIES: Record<'imagenet' | 'cifar10' | 'svhn', readonly Pair[]> = {
  imagenet: [
    pair('posterize', 0.4, 8, 'rotate', 0.6, 9),
    pair('solarize', 0.6, 5, 'autocontrast', 0.6, 0),
    pair('equalize', 0.8, 0, 'equalize', 0.6, 0),
    pair('posterize', 0.6, 7, 'posterize', 0.6, 6),
    pair('equalize', 0.4, 0, 'solarize', 0.2, 4),
    pair('equalize', 0.4, 0, 'rotate', 0.8, 8),
    pair('solarize', 0.6, 3, 'equalize', 0.6, 0),
    pair('posterize', 0.8, 5, 'equalize', 1.0, 0),
    pair('rotate', 0.2, 3, 'solarize', 0.6, 8),
    pair('equalize', 0.6, 0, 'posterize', 0.4, 6),
    pair('rotate', 0.8, 8, 'color', 0.4, 0),
    pair('rotate', 0.4, 9, 'equalize', 0.6, 0),
    pair('equalize', 0.0, 0, 'equalize', 0.8, 0),
    pair('invert', 0.6, 0, 'equalize', 1.0, 0),
    pair('color', 0.6, 4, 'contrast', 1.0, 8),
    pair('rotate', 0.8, 8, 'color', 1.0, 2),
    pair('color', 0.8, 8, 'solarize', 0.8, 7),
    pair('sharpness', 0.4, 7, 'invert', 0.6, 0),
    pair('shearX', 0.6, 5, 'equalize', 1.0, 0),
    pair('color', 0.4, 0, 'equalize', 0.6, 0),
    pair('equalize', 0.4, 0, 'solarize', 0.2, 4),
    pair('solarize', 0.6, 5, 'autocontrast', 0.6, 0),
    pair('invert', 0.6, 0, 'equalize', 1.0, 0),
    pair('color', 0.6, 4, 'contrast', 1.0, 8),
    pair('equalize', 0.8, 0, 'equalize', 0.6, 0),
  ],
  cifar10: [
    pair('invert', 0.1, 0, 'contrast', 0.2, 6),
    pair('rotate', 0.7, 2, 'translateX', 0.3, 9),
    pair('sharpness', 0.8, 1, 'sharpness', 0.9, 3),
    pair('shearY', 0.5, 8, 'translateY', 0.7, 9),
    pair('autocontrast', 0.5, 0, 'equalize', 0.9, 0),
    pair('shearY', 0.2, 7, 'posterize', 0.3, 7),
    pair('color', 0.4, 3, 'brightness', 0.6, 7),
    pair('sharpness', 0.3, 9, 'brightness', 0.7, 9),
    pair('equalize', 0.6, 0, 'equalize', 0.5, 0),
    pair('contrast', 0.6, 7, 'sharpness', 0.6, 5),
    pair('color', 0.7, 7, 'translateX', 0.5, 8),
    pair('equalize', 0.3, 0, 'autocontrast', 0.4, 0),
    pair('translateY', 0.4, 3, 'sharpness', 0.2, 6),
    pair('brightness', 0.9, 6, 'color', 0.2, 8),
    pair('solarize', 0.5, 2, 'invert', 0.0, 0),
    pair('equalize', 0.2, 0, 'autocontrast', 0.6, 0),
    pair('equalize', 0.2, 0, 'equalize', 0.6, 0),
    pair('color', 0.9, 9, 'equalize', 0.6, 0),
    pair('autocontrast', 0.8, 0, 'solarize', 0.2, 8),
    pair('brightness', 0.1, 3, 'color', 0.7, 0),
    pair('solarize', 0.4, 5, 'autocontrast', 0.9, 0),
    pair('translateY', 0.9, 9, 'translateY', 0.7, 9),
    pair('autocontrast', 0.9, 0, 'solarize', 0.8, 3),
    pair('equalize', 0.8, 0, 'invert', 0.1, 0),
    pair('translateY', 0.7, 9, 'autocontrast', 0.9, 0),
  ],
  svhn: [
    pair('shearX', 0.9, 4, 'invert', 0.2, 0),
    pair('shearY', 0.9, 8, 'invert', 0.7, 0),
    pair('equalize', 0.6, 0, 'solarize', 0.6, 6),
    pair('invert', 0.9, 0, 'equalize', 0.6, 0),
    pair('equalize', 0.6, 0, 'rotate', 0.9, 3),
    pair('shearX', 0.9, 4, 'autocontrast', 0.8, 0),
    pair('shearY', 0.9, 8, 'invert', 0.4, 0),
    pair('shearY', 0.9, 5, 'solarize', 0.2, 6),
    pair('invert', 0.9, 0, 'autocontrast', 0.8, 0),
    pair('equalize', 0.6, 0, 'rotate', 0.9, 3),
    pair('shearX', 0.9, 4, 'solarize', 0.3, 3),
    pair('shearY', 0.8, 8, 'invert', 0.7, 0),
    pair('equalize', 0.9, 0, 'translateY', 0.6, 6),
    pair('invert', 0.9, 0, 'equalize', 0.6, 0),
    pair('contrast', 0.3, 3, 'rotate', 0.8, 4),
    pair('invert', 0.8, 0, 'translateY', 0.0, 2),
    pair('shearY', 0.7, 6, 'solarize', 0.4, 8),
    pair('invert', 0.6, 0, 'rotate', 0.8, 4),
    pair('shearY', 0.3, 7, 'translateX', 0.9, 3),
    pair('shearX', 0.1, 6, 'invert', 0.6, 0),
    pair('solarize', 0.7, 2, 'translateY', 0.6, 7),
    pair('shearY', 0.8, 4, 'invert', 0.8, 0),
    pair('shearX', 0.7, 9, 'translateY', 0.8, 3),
    pair('shearY', 0.8, 5, 'autocontrast', 0.7, 0),
    pair('shearX', 0.7, 2, 'invert', 0.1, 0),
  ],
}

function pair(...[a, pA, binA, b, pB, binB]: [...Entry, ...Entry]): Pair {
  return [
    [a, pA, binA],
    [b, pB, binB],
  ]
}
