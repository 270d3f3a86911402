// Keyed random numbers, bit for bit those of basics/random.ts: sfc32, keyed by way of murmur3's finaliser.
#pragma once
#include "facts.cuh"

__device__ inline unsigned mix32(unsigned x) {
  x = (x ^ x >> 16) * MIX_FIRST;
  x = (x ^ x >> 13) * MIX_SECOND;
  return x ^ x >> 16;
}

struct Random {
  unsigned a, b, c, d;

  /** The stream of (seed, epoch 0, position, key 0), both numbers below 2³². */
  __device__ Random(unsigned seed, unsigned position) {
    a = mix32(seed ^ KEY_SEED) ^ mix32(position + KEY_POSITION);
    b = mix32(KEY_EPOCH) ^ mix32(KEY_KEY);
    c = mix32(a) ^ mix32(KEY_HIGH);
    d = 1;
    for (int i = 0; i < ROUNDS; i++) bits();
  }

  __device__ unsigned bits() {
    unsigned t = a + b + d;
    d = d + 1;
    a = b ^ b >> 9;
    b = c + (c << 3);
    c = (c << 21 | c >> 11) + t;
    return t;
  }

  /** Uniform in [0, 1), 53 bits. */
  __device__ double next() {
    double high = bits() >> 5;
    return (high * 67108864.0 + (bits() >> 6)) / 9007199254740992.0;
  }

  /** Two standard normal numbers, by Box and Muller. */
  __device__ __noinline__ void normals(double& first, double& second) {
    double radius = sqrt(-2 * log(1 - next()));
    double sine, cosine;
    sincos(2 * 3.141592653589793 * next(), &sine, &cosine);
    first = radius * cosine;
    second = radius * sine;
  }
};
