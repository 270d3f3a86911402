/**
 * Carries out steps on one picture, as late as possible. Crop, resize and flip are only noted, in the form
 *
 *   box of the source ─► resize ─► window of the result ─► mirror
 *
 * and done together: by decoding just the box, and by one call of the `place` kernel, straight into the slot. A step
 * that doesn't fit this form first *settles* what is noted, into a picture of bytes in the workspace.
 */
import type { Box, Picture } from '../decode/picture.js'
import { markSpan, SpanKind } from '../system/spans.js'
import type { Workspace } from '../system/workspace.js'
import { inputsOf } from './axis.js'
import { applyColor } from './color.js'
import { applyCrop } from './crop.js'
import { applyPad } from './pad.js'
import { type Flips, placePicture, type Sizing, scalings, type Target } from './place.js'
import type { ColorStep, GeometryStep } from './steps.js'
import type { Undecoded } from './undecoded.js'
import { compileValues } from './values.js'
import { applyAffine } from './warp.js'

const BYTES = { 1: compileValues('u8', 1), 3: compileValues('u8', 3) } as const

export class Canvas {
  private picture: Picture | undefined
  private box: Box
  private size: Sizing | undefined
  private flips: Flips = { horizontal: false, vertical: false }

  constructor(
    private readonly source: Undecoded,
    private readonly work: Workspace,
  ) {
    this.box = { x: 0, y: 0, width: source.width, height: source.height }
  }

  /** Size of the picture after all steps so far. */
  get width(): number {
    return (this.size?.window ?? this.size ?? this.box).width
  }
  get height(): number {
    return (this.size?.window ?? this.size ?? this.box).height
  }

  apply(step: GeometryStep | ColorStep): void {
    switch (step.do) {
      case 'crop':
        this.crop(step)
        break
      case 'resize':
        this.resize(step)
        break
      case 'flip':
        this.flips = { ...this.flips, [step.axis]: !this.flips[step.axis] }
        break
      case 'pad':
        this.become(applyPad(step, this.settle(), this.work))
        break
      case 'affine':
        this.become(applyAffine(step, this.settle(), this.work))
        break
      default:
        this.become(applyColor(step, this.settle(), this.work))
    }
  }

  /** Writes the picture into the slot. */
  place(target: Target): void {
    const picture = this.pixels()
    placePicture(this.work, picture, this.box, this.sizing(), this.flips, target)
  }

  private crop(step: Box): void {
    const { width, height } = this
    if (step.x < 0 || step.y < 0 || step.x + step.width > width || step.y + step.height > height) {
      this.become(applyCrop(step, this.settle(), this.work))
      return
    }
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
  }

  private resize({ width, height, filter, antialias }: Sizing): void {
    if (width === this.width && height === this.height) return
    // Weights are rounded from left to right: resizing a mirrored picture is not mirroring a resized one.
    if (this.size !== undefined || this.flips.horizontal || this.flips.vertical) this.become(this.settle())
    this.size = { width, height, filter, antialias }
  }

  /** The picture with all steps so far done, as bytes in the workspace. */
  private settle(): Picture {
    const picture = this.pixels()
    if (this.size === undefined && !this.flips.horizontal && !this.flips.vertical) {
      return applyCrop(this.box, picture, this.work)
    }
    const { width, height } = this
    const { channels } = picture
    const at = this.work.take(width * height * channels)
    placePicture(this.work, picture, this.box, this.sizing(), this.flips, {
      at,
      width,
      height,
      layout: 'hwc',
      values: BYTES[channels],
    })
    return { at, width, height, channels, stride: width * channels }
  }

  private become(picture: Picture): void {
    this.picture = picture
    this.box = { x: 0, y: 0, width: picture.width, height: picture.height }
    this.size = undefined
    this.flips = { horizontal: false, vertical: false }
  }

  private sizing(): Sizing {
    return this.size ?? { ...this.box, filter: 'nearest', antialias: false }
  }

  /** The pixels that the box refers to: decodes, the first time, as little as will do. */
  private pixels(): Picture {
    if (this.picture !== undefined) return this.picture
    const { box, size } = this
    if (this.source.reducible || size?.window === undefined) {
      this.picture = this.decode(box, size)
      const { width, height } = this.picture
      this.box = { x: 0, y: 0, width, height }
      return this.picture
    }
    // Of the box, the window needs these pixels only.
    const [x, y] = scalings(box, size)
    const [left, right] = inputsOf(x)
    const [top, bottom] = inputsOf(y)
    const needed = { x: box.x + left, y: box.y + top, width: right - left, height: bottom - top }
    const part = this.decode(needed, size)
    // The whole box, as if it had been decoded: nothing outside the part is ever read.
    const at = part.at - top * part.stride - left * part.channels
    this.picture = { ...part, at, width: box.width, height: box.height }
    this.box = { ...box, x: 0, y: 0 }
    return this.picture
  }

  private decode(box: Box, size: Sizing | undefined): Picture {
    markSpan(SpanKind.Transform)
    const picture = this.source.decode(box, size, this.work)
    markSpan(SpanKind.Decode)
    return picture
  }
}
