/**
 * Crops, resizes and flips that follow each other, put together into one placement, which is then done at once:
 *
 *   box of the source ─► resize ─► window of the result ─► mirror
 *
 * The CPU (canvas.ts) and the device (picture-ops.ts) put them together by the same rules, so that both round alike.
 */
import type { Box } from '../../decode/picture/picture.js'
import type { Step } from '../../operators/steps.js'
import type { Flips, Sizing } from '../place/place.js'

export class Placement {
  box: Box
  size: Sizing | undefined
  flips: Flips = { horizontal: false, vertical: false }

  constructor(width: number, height: number) {
    this.box = { x: 0, y: 0, width, height }
  }

  /** Size of the picture after the placement. */
  get width(): number {
    return (this.size?.window ?? this.size ?? this.box).width
  }
  get height(): number {
    return (this.size?.window ?? this.size ?? this.box).height
  }

  get mirrored(): boolean {
    return this.flips.horizontal || this.flips.vertical
  }

  /** Adds a step. False if it is none of the three, or the placement so far has to be done first. */
  gather(step: Step): boolean {
    switch (step.do) {
      case 'crop':
        return this.crop(step)
      case 'resize':
        return this.resize(step)
      case 'flip':
        this.flips = { ...this.flips, [step.axis]: !this.flips[step.axis] }
        return true
      default:
        return false
    }
  }

  /** Adds a crop. False if it reaches outside: then it is no part of a placement. */
  private crop(step: Box): boolean {
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

  /** Adds a resize. False if the placement so far has to be done first. */
  resize({ width, height, filter, antialias }: Sizing): boolean {
    if (width === this.width && height === this.height) return true
    // Weights are rounded from left to right: resizing a mirrored picture is not mirroring a resized one.
    if (this.size !== undefined || this.mirrored) return false
    this.size = { width, height, filter, antialias }
    return true
  }
}
