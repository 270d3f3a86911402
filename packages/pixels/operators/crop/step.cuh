// A crop that reaches outside the picture.
#pragma once
#include "picture.cuh"
#include "row.cuh"

/** Zeros where the box lies outside. */
__device__ inline Picture crop(Op op, Picture from, u8* to) {
  int left = op.whole(1), top = op.whole(2);
  return drawn(to, op.whole(3), op.whole(4), [&](int x, int y) -> Pixel {
    int fromX = left + x, fromY = top + y;
    bool inside = (unsigned)fromX < (unsigned)from.width && (unsigned)fromY < (unsigned)from.height;
    return inside ? from.pixel(fromX, fromY) : Pixel{0, 0, 0};
  });
}
