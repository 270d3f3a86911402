#pragma once
#include "color.cuh"

__device__ inline Picture invert(Op, Picture from, u8* to) {
  return byTables(from, to, [](int, int x) -> u8 { return (u8)(255 - x); });
}
