#pragma once
#include "color.cuh"

/** Stretches the values that occur to 0…255; a single value stays. */
__device__ inline Picture autocontrast(Op, Picture from, u8* to) {
  __shared__ int ends[3][2]; // the lowest and the highest value of each channel
  countValues(from);
  for (int c = threadIdx.x; c < 3; c += blockDim.x) {
    int low = 0, high = 255;
    while (histogram[c * 256 + low] == 0) low++;
    while (histogram[c * 256 + high] == 0) high--;
    ends[c][0] = low;
    ends[c][1] = high;
  }
  __syncthreads();
  return byTables(from, to, [&](int c, int x) -> u8 {
    int low = ends[c][0], high = ends[c][1];
    float unit = (float)(high - low) * (float)(1.0 / 255);
    return low == high ? (u8)x : toByte((float)(x - low) / unit);
  });
}
