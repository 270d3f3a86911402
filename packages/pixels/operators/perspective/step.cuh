#pragma once
#include "warp.cuh"

/** As affine, of pixels' middles, and both sums divided by a third. */
__device__ inline Picture perspective(Op op, Picture from, u8* to) {
  float map[8];
  for (int i = 0; i < 8; i++) map[i] = op.real(1 + i);
  Warp warp = warpOf(op, 9, from);
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    float u = (float)x + 0.5f, v = (float)y + 0.5f;
    float divisor = u * map[6] + v * map[7] + 1;
    float fromX = (u * map[0] + v * map[1] + map[2]) / divisor - 1;
    float fromY = (u * map[3] + v * map[4] + map[5]) / divisor - 1;
    return warp.fetch(fromX, fromY);
  });
}
