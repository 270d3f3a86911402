#pragma once
#include "warp.cuh"

__device__ inline Picture affine(Op op, Picture from, u8* to) {
  float map[6];
  for (int i = 0; i < 6; i++) map[i] = op.real(1 + i);
  int width = op.whole(7), height = op.whole(8);
  Warp warp = warpOf(op, 9, from);
  float left = (float)(1 - width) * 0.5f, top = (float)(1 - height) * 0.5f;
  return drawn(to, width, height, [&](int x, int y) -> Pixel {
    // From the output's centre, by way of the map, to the input's.
    float u = (float)x + left, v = (float)y + top;
    return warp.fetch(u * map[0] + v * map[1] + map[2], u * map[3] + v * map[4] + map[5]);
  });
}
