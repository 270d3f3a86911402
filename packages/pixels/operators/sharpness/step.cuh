// Float32 as in packages/pixels/test/transform/twins/filter.ts.
#pragma once
#include "picture.cuh"
#include "row.cuh"

/** Blends each pixel with the mean around it, in which it counts five times. The rim stays. */
__device__ inline Picture sharpness(Op op, Picture from, u8* to) {
  float rest = op.real(1);
  auto channel = [&](const u8* p) -> u8 {
    int value = p[0], sum = 4 * value;
    for (int dy = -from.down, row = 0; row < 3; row++, dy += from.down)
      sum += p[dy - from.right] + p[dy] + p[dy + from.right];
    int blurred = (sum + 6) / 13; // to nearest: never halfway, as 13 is odd
    return toByte((float)value + (float)(blurred - value) * rest);
  };
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    if (x == 0 || y == 0 || x == from.width - 1 || y == from.height - 1) return from.pixel(x, y);
    const u8* p = from.address(x, y);
    return {channel(p), channel(p + 1), channel(p + 2)};
  });
}
