#pragma once
#include "color.cuh"

/** Makes the histogram flat, by Pillow's scheme: the highest value that occurs does not count. */
__device__ inline Picture equalize(Op, Picture from, u8* to) {
  __shared__ unsigned steps[3];
  countValues(from);
  for (int c = threadIdx.x; c < 3; c += blockDim.x) {
    // The counts become the numbers of values below each.
    unsigned below = 0, last = 0;
    for (int i = c * 256; i < (c + 1) * 256; i++) {
      unsigned count = histogram[i];
      histogram[i] = below;
      below += count;
      if (count > 0) last = count;
    }
    steps[c] = (below - last) / 255;
  }
  __syncthreads();
  return byTables(from, to, [&](int c, int x) -> u8 {
    unsigned step = steps[c];
    return step == 0 ? (u8)x : (u8)min(255u, (histogram[c * 256 + x] + (step >> 1)) / step);
  });
}
