#pragma once
#include "color.cuh"

/** Keeps the highest `bits` bits. */
__device__ inline Picture posterize(Op op, Picture from, u8* to) {
  int mask = 0xff & ~(0xff >> op.whole(1));
  return byTables(from, to, [&](int, int x) -> u8 { return (u8)(x & mask); });
}
