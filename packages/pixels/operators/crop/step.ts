/** Crops. One that stays inside is a window and copies nothing; one that reaches outside has zeros there. */

import type { Workspace } from '../../../core/system/memory/workspace.js'
import type { Box, Picture } from '../../decode/picture/picture.js'
import { copyRows } from '../copy.js'
import { step } from '../step.js'

/** May reach outside: zeros there. `centred`: of the boxes, those whose middle lies outside are dropped. */
export interface CropStep extends Box {
  do: 'crop'
  centred?: boolean
}

export const cropSteps = step<CropStep>({
  do: 'crop',
  code: 2,
  run: cropped,
  args: ({ x, y, width, height }) => [x, y, width, height],
  size: ({ width, height }) => ({ width, height }),
  motion:
    ({ x: left, y: top }) =>
    (x, y) => [x - left, y - top],
})

export function cropped(box: Box, picture: Picture, work: Workspace): Picture {
  const { at, stride, channels } = picture
  const { width, height } = box
  // The part of the box that lies inside.
  const left = Math.max(0, box.x)
  const top = Math.max(0, box.y)
  const right = Math.min(picture.width, box.x + width)
  const bottom = Math.min(picture.height, box.y + height)
  if (right - left === width && bottom - top === height)
    return { at: at + top * stride + left * channels, width, height, channels, stride }

  const rowBytes = width * channels
  const to = work.take(rowBytes * height)
  work.u8.fill(0, to, to + rowBytes * height)
  if (right > left && bottom > top) {
    const from = { at: at + top * stride + left * channels, stride }
    const target = { at: to + (top - box.y) * rowBytes + (left - box.x) * channels, stride: rowBytes }
    copyRows(work.memory, from, target, (right - left) * channels, bottom - top)
  }
  return { at: to, width, height, channels, stride: rowBytes }
}
