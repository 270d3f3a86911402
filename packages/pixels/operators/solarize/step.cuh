#pragma once
#include "color.cuh"

/** Inverts values from the threshold upwards. */
__device__ inline Picture solarize(Op op, Picture from, u8* to) {
  float threshold = op.real(1);
  return byTables(from, to, [&](int, int x) -> u8 { return (u8)((float)x >= threshold ? 255 - x : x); });
}
