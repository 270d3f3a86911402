/**
 * Numbers of the colour operators, those of torchvision. The kernels' copies (facts.cuh, assembly/generated/facts.ts) are
 * generated from this file: npm run generate.
 */

/** What each channel is of a pixel's luminance. */
export const LUMINANCE_RED = 0.2989
export const LUMINANCE_GREEN = 0.587
export const LUMINANCE_BLUE = 0.114

/** torchvision maps 0…1 back to bytes by × 255.999, rounded down: this much of ours, which go to 255. */
export const HUE_SCALE = 255.999 / 255
