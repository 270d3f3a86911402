#pragma once
#include "color.cuh"
#include "random.cuh"

/** A byte and its noise: the sum of twelve random numbers from 0 to 65,535 is nearly normal, and whole. */
__device__ inline u8 noisy(int x, unsigned place, unsigned seed, float scale, float mean) {
  int sum = -393210;
  for (unsigned i = 0; i < 6; i++) {
    unsigned bits = mix32(seed + (place * 6 + i) * WEYL);
    sum += (bits & 0xffff) + (bits >> 16);
  }
  int added = (int)((float)sum * scale + mean);
  return (u8)min(255, max(0, x + added));
}

/** Adds normal noise, scaled and shifted, keyed by a seed and the place of each byte. */
__device__ inline Picture gaussianNoise(Op op, Picture from, u8* to) {
  unsigned seed = (unsigned)op.real(1);
  float scale = op.real(2), mean = op.real(3);
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    Pixel p = from.pixel(x, y);
    unsigned place = (unsigned)(y * from.width + x) * 3;
    return {noisy(p.red, place, seed, scale, mean), noisy(p.green, place + 1, seed, scale, mean),
            noisy(p.blue, place + 2, seed, scale, mean)};
  });
}
