// A parameter row, as ../../parameter-row.ts writes it: a header of 32 words, then ops of 16 words each.
#pragma once

constexpr int HEADER_WORDS = 32;
constexpr int OP_WORDS = 16;

/** Words of the header. */
enum Word { FORM = 0, STORED_WIDTH = 2, STORED_HEIGHT = 3, ORIENTATION = 4, OPS = 5, WIDTH = 7, HEIGHT = 8, MIX = 16 };

constexpr int MIX_WORDS = 6;
enum MixKind { MIXUP = 1, CUTMIX = 2, MOSAIC = 3 };

enum OpCode {
  PLACE = 1, CROP, PAD, AFFINE, BRIGHTNESS, CONTRAST, SATURATION, HUE, SHARPNESS, GRAYSCALE, AUTOCONTRAST, EQUALIZE,
  INVERT, POSTERIZE, SOLARIZE, BLUR, ERASE, PERMUTE, PERSPECTIVE, ELASTIC
};

enum Filter { NEAREST = 0, BILINEAR = 1, BICUBIC = 2 };

/** One op: word 0 is its code, its arguments follow. */
struct Op {
  const unsigned* words;

  __device__ int code() const { return (int)words[0]; }
  __device__ int whole(int i) const { return (int)words[i]; }
  __device__ float real(int i) const { return __uint_as_float(words[i]); }
  /** A float64 in words i and i + 1. */
  __device__ double precise(int i) const { return __hiloint2double((int)words[i + 1], (int)words[i]); }
};

struct Row {
  const unsigned* words;

  __device__ int operator[](Word word) const { return (int)words[word]; }
  __device__ Op op(int i) const { return {words + HEADER_WORDS + i * OP_WORDS}; }
};
