// How ops fetch pixels from where a map says, float32 as in packages/pixels/test/transform/twins/warp.ts.
#pragma once
#include "picture.cuh"
#include "row.cuh"

struct Warp {
  Picture from;
  bool filled;
  float fill[3];
  int filter;

  /** The pixel at a place from -1 to 1 along both axes. */
  __device__ Pixel fetch(float x, float y) const {
    x = (x + 1) * ((float)from.width * 0.5f) - 0.5f;
    y = (y + 1) * ((float)from.height * 0.5f) - 0.5f;
    return filter == Filter::NEAREST ? nearest(x, y) : bilinear(x, y);
  }

  /** Whether the pixel (x, y), whole numbers both, is there. */
  __device__ bool has(float x, float y) const {
    return x >= 0 && y >= 0 && x < (float)from.width && y < (float)from.height;
  }

  __device__ Pixel nearest(float x, float y) const {
    x = rintf(x);
    y = rintf(y);
    if (has(x, y)) return from.pixel((int)x, (int)y);
    if (!filled) return {0, 0, 0};
    return {(u8)(int)rintf(fill[0]), (u8)(int)rintf(fill[1]), (u8)(int)rintf(fill[2])};
  }

  /** Corners outside add nothing; the fill takes the share that they leave. */
  __device__ Pixel bilinear(float x, float y) const {
    float left = floorf(x), top = floorf(y);
    float shareX = x - left, shareY = y - top;
    float sum[3] = {0, 0, 0}, share = 0;
    bool whole = true;
    for (int corner = 0; corner < 4; corner++) {
      int dx = corner & 1, dy = corner >> 1;
      float cornerX = left + (float)dx, cornerY = top + (float)dy;
      float weight = (dx ? shareX : 1 - shareX) * (dy ? shareY : 1 - shareY);
      if (!has(cornerX, cornerY)) {
        whole = false;
        continue;
      }
      const u8* p = from.address((int)cornerX, (int)cornerY);
      for (int c = 0; c < 3; c++) sum[c] = sum[c] + (float)p[c] * weight;
      share = share + weight;
    }
    if (filled && !whole)
      for (int c = 0; c < 3; c++) sum[c] = (sum[c] - fill[c]) * share + fill[c];
    return {(u8)(int)rintf(sum[0]), (u8)(int)rintf(sum[1]), (u8)(int)rintf(sum[2])};
  }
};

/** How pixels of `from` are fetched: the filter, whether there is a fill, and its colour, in words `at` and following. */
__device__ inline Warp warpOf(Op op, int at, Picture from) {
  return {from, op.whole(at + 1) != 0, {op.real(at + 2), op.real(at + 3), op.real(at + 4)}, op.whole(at)};
}
