// What ops have in common that change each pixel by itself, float32 as in their step.ts and packages/pixels/test/transform/twins/color.ts.
// Those that treat channels alike or apart, not together, are done by tables of 256 bytes for each channel, in shared memory.
#pragma once
#include "facts.cuh"
#include "picture.cuh"
#include "row.cuh"

__shared__ u8 byteTables[3 * 256];
__shared__ unsigned histogram[3 * 256];

/** Every byte becomes value(channel, byte). */
template <class Value>
__device__ Picture byTables(Picture from, u8* to, Value value) {
  for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) byteTables[i] = value(i >> 8, i & 255);
  __syncthreads();
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    Pixel p = from.pixel(x, y);
    return {byteTables[p.red], byteTables[256 + p.green], byteTables[512 + p.blue]};
  });
}

/** Rounded down. */
__device__ inline int luminance(Pixel p) {
  return (int)((float)p.red * LUMINANCE_RED + (float)p.green * LUMINANCE_GREEN + (float)p.blue * LUMINANCE_BLUE);
}

/** How often each value of each channel occurs. */
__device__ inline void countValues(Picture picture) {
  for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) histogram[i] = 0;
  __syncthreads();
  for (Walk at(picture.width, picture.height); at.inside(); at.next()) {
    Pixel p = picture.pixel(at.x, at.y);
    atomicAdd(&histogram[p.red], 1u);
    atomicAdd(&histogram[256 + p.green], 1u);
    atomicAdd(&histogram[512 + p.blue], 1u);
  }
  __syncthreads();
}
