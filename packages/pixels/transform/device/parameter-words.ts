/**
 * The words of a parameter row (parameter-row.ts). The kernels' copy (kernels/cuda/facts.cuh) and Python's
 * (python/millrace/_generated/) are generated from this file: npm run generate.
 */

/** Words of the header; the ops follow. */
export const HEADER_WORDS = 32

/** Words of an op: its code, and its arguments. */
export const OP_WORDS = 16

/** What the bytes behind the parameter row are. */
export const Form = {
  /** No picture: a row of zeros. */
  Nothing: 0,
  /** A baseline JPEG of one scan: nvJPEG decodes it. */
  Jpeg: 1,
  /** RGB, 8 bits, interleaved, without gaps: decoded already. */
  Pixels: 3,
} as const

/** Words of the header. */
export const Word = {
  Form: 0,
  /** Bytes behind the parameter row. */
  Bytes: 1,
  /** Width and height as decoded, before the orientation is applied. */
  StoredWidth: 2,
  StoredHeight: 3,
  /** As in EXIF. */
  Orientation: 4,
  /** How many ops follow the header. */
  Ops: 5,
  /** Bytes of the largest picture that an op leaves. */
  PictureBytes: 6,
  /** Width and height of the finished picture. */
  Width: 7,
  Height: 8,
  /** How many mixes are noted, from `Mix` on. */
  Mixes: 9,
  /** Bytes that the largest `place` needs for its tables. */
  TableBytes: 10,
  /** Of a JPEG: how its chroma is sampled (decode/picture/jpeg-header.ts). nvJPEG decodes each kind apart. */
  Sampling: 11,
  /** The crop that was chosen with a look at the boxes, for a worker that makes the row again: x, y, width, height. */
  Crop: 12,
  /**
   * Two mixes of six words: kind, share, then of mixup the partner's share, of cutmix x, y, width, height; of mosaic the
   * kind, seed, threshold, and where points lie along x and y, first and last in the halves of a word.
   */
  Mix: 16,
} as const

/** Words of a mix. */
export const MIX_WORDS = 6

/** Mixes of a row at most. */
export const MOST_MIXES = 2

/** What a mix does. */
export const MixKind = { Mixup: 1, Cutmix: 2, Mosaic: 3 } as const

/** How a resize or a warp looks between pixels. */
export const FILTER_CODES = { nearest: 0, bilinear: 1, bicubic: 2 } as const

/** What padding is made of. */
export const PAD_CODES = { constant: 0, edge: 1, reflect: 2, symmetric: 3 } as const
