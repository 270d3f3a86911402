/** Every kind of field. One is its descriptor here and its line; the rest is made of them. */
import type { Decoder } from '../../core/define/kind.js'
import { npy } from './array.js'
import { category, float, int, vector } from './number.js'
import { image, mask } from './picture.js'
import { bytes, json, text } from './text.js'
import { boxes, points } from './things.js'

export interface FieldKinds {
  image: true
  mask: true
  boxes: true
  points: true
  vector: true
  class: true
  int: true
  float: true
  text: true
  json: true
  bytes: true
  npy: true
}

declare module '../../core/define/types.js' {
  interface KindTypes extends FieldKinds {}
}

export const DECODERS: readonly Decoder[] = [
  ...[image, mask, boxes, points],
  ...[vector, category, int, float],
  ...[text, json, bytes, npy],
]
