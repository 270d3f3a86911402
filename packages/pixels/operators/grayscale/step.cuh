#pragma once
#include "color.cuh"

__device__ inline Picture grayscale(Op, Picture from, u8* to) {
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    u8 gray = (u8)luminance(from.pixel(x, y));
    return {gray, gray, gray};
  });
}
