/**
 * Carries out steps on one picture, as late as possible. Crop, resize and flip are only gathered, and done together: by
 * decoding just the box, and by one call of the `place` kernel, straight into the slot. A step that can't be gathered
 * first *settles* what is, into a picture of bytes in the workspace.
 */

import { markSpan } from '../../../core/spans/clock.js'
import { SpanKind } from '../../../core/spans/span-words.js'
import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from '../../decode/picture/picture.js'
import { cropped } from '../../operators/crop/step.js'
import { applyStep, type Step } from '../../operators/steps.js'
import { inputsOf } from '../place/axis.js'
import { placePicture, type Sizing, scalings, type Target } from '../place/place.js'
import { compileValues } from '../place/values.js'
import type { OpenedPicture } from './open-picture.js'
import { Placement } from './placement.js'

const BYTES = { 1: compileValues('u8', 1), 3: compileValues('u8', 3) } as const

export class Canvas {
  private picture: Picture | undefined
  private placement: Placement

  constructor(
    private readonly source: OpenedPicture,
    private readonly work: Workspace,
  ) {
    this.placement = new Placement(source.width, source.height)
  }

  /** Size of the picture after all steps so far. */
  get width(): number {
    return this.placement.width
  }
  get height(): number {
    return this.placement.height
  }

  apply(step: Step): void {
    if (this.placement.gather(step)) return
    const picture = this.settle()
    this.become(step.do === 'resize' ? picture : applyStep(step, picture, this.work))
    if (step.do === 'resize') this.placement.resize(step)
  }

  /** Writes the picture into the slot. */
  place(target: Target): void {
    const picture = this.pixels()
    const { box, flips } = this.placement
    placePicture(this.work, picture, box, this.sizing(), flips, target)
  }

  /** The picture with all steps so far done, as bytes in the workspace. */
  private settle(): Picture {
    const picture = this.pixels()
    const { box, size, flips, mirrored, width, height } = this.placement
    if (size === undefined && !mirrored) return cropped(box, picture, this.work)
    const { channels } = picture
    const at = this.work.take(width * height * channels)
    placePicture(this.work, picture, box, this.sizing(), flips, {
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
    this.placement = new Placement(picture.width, picture.height)
  }

  private sizing(): Sizing {
    const { size, box } = this.placement
    return size ?? { ...box, filter: 'nearest', antialias: false }
  }

  /** The pixels that the box refers to: decodes, the first time, as little as will do. */
  private pixels(): Picture {
    if (this.picture !== undefined) return this.picture
    const { placement } = this
    const { box, size } = placement
    if (this.source.reducible || size?.window === undefined) {
      this.picture = this.decode(box, size)
      const { width, height } = this.picture
      placement.box = { x: 0, y: 0, width, height }
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
    placement.box = { ...box, x: 0, y: 0 }
    return this.picture
  }

  private decode(box: Box, size: Sizing | undefined): Picture {
    markSpan(SpanKind.Transform)
    const picture = this.source.decode(box, size, this.work)
    markSpan(SpanKind.Decode)
    return picture
  }
}
