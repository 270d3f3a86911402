#pragma once
#include "picture.cuh"
#include "row.cuh"

__device__ inline int modulo(int i, int n) {
  int rest = i % n;
  return rest < 0 ? rest + n : rest;
}

/** Where the pixel at i, which may lie outside 0…n−1, comes from. */
__device__ inline int paddingSource(int i, int n, int mode) {
  if ((unsigned)i < (unsigned)n) return i;
  if (mode == PadMode::EDGE) return min(max(i, 0), n - 1);
  // Mirrored about the edge's pixel, which is not repeated …
  if (mode == PadMode::REFLECT) return n == 1 ? 0 : n - 1 - abs(n - 1 - modulo(i, 2 * n - 2));
  // … or about the edge itself.
  int m = modulo(i, 2 * n);
  return m < n ? m : 2 * n - 1 - m;
}

__device__ inline Picture pad(Op op, Picture from, u8* to) {
  int left = op.whole(1), top = op.whole(2), right = op.whole(3), bottom = op.whole(4), mode = op.whole(5);
  Pixel fill = {(u8)op.whole(6), (u8)op.whole(7), (u8)op.whole(8)};
  return drawn(to, left + from.width + right, top + from.height + bottom, [&](int x, int y) -> Pixel {
    int fromX = x - left, fromY = y - top;
    bool inside = (unsigned)fromX < (unsigned)from.width && (unsigned)fromY < (unsigned)from.height;
    if (mode == PadMode::CONSTANT && !inside) return fill;
    return from.pixel(paddingSource(fromX, from.width, mode), paddingSource(fromY, from.height, mode));
  });
}
