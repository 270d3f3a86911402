/**
 * Crop, resize and flip, gathered into one placement, in the form
 *
 *   box of the source ─► resize ─► window of the result ─► mirror
 *
 * The CPU (canvas.ts) and the device (picture-ops.ts) gather them by the same rules, so that both do the same roundings.
 */
import type { Box } from '../../decode/picture/picture.js'
import type { Flips, Sizing } from '../place/place.js'

export class Gathered {
  box: Box
  size: Sizing | undefined
  flips: Flips = { horizontal: false, vertical: false }

  constructor(width: number, height: number) {
    this.box = { x: 0, y: 0, width, height }
  }

  /** Size of the picture after all that is gathered. */
  get width(): number {
    return (this.size?.window ?? this.size ?? this.box).width
  }
  get height(): number {
    return (this.size?.window ?? this.size ?? this.box).height
  }

  get mirrored(): boolean {
    return this.flips.horizontal || this.flips.vertical
  }

  /** False if it can't be gathered: it reaches outside. */
  crop(step: Box): boolean {
    const { width, height } = this
    if (step.x < 0 || step.y < 0 || step.x + step.width > width || step.y + step.height > height) return false
    // The mirror comes last: seen before it, the crop lies on the other side.
    const x = this.flips.horizontal ? width - step.x - step.width : step.x
    const y = this.flips.vertical ? height - step.y - step.height : step.y
    const inner = (outer: Pick<Box, 'x' | 'y'>): Box => ({
      x: outer.x + x,
      y: outer.y + y,
      width: step.width,
      height: step.height,
    })
    if (this.size === undefined) this.box = inner(this.box)
    else this.size = { ...this.size, window: inner(this.size.window ?? { x: 0, y: 0 }) }
    return true
  }

  /** False if what is gathered has to be done first. */
  resize({ width, height, filter, antialias }: Sizing): boolean {
    if (width === this.width && height === this.height) return true
    // Weights are rounded from left to right: resizing a mirrored picture is not mirroring a resized one.
    if (this.size !== undefined || this.mirrored) return false
    this.size = { width, height, filter, antialias }
    return true
  }

  flip(axis: keyof Flips): void {
    this.flips = { ...this.flips, [axis]: !this.flips[axis] }
  }
}
