// Keyed random numbers, bit for bit those of basics/random.ts: sfc32, keyed by way of murmur3's finaliser.
#pragma once

__device__ inline unsigned mix32(unsigned x) {
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  return x ^ x >> 16;
}

struct Random {
  unsigned a, b, c, d;

  /** The stream of (seed, epoch 0, position, key 0), both numbers below 2³². */
  __device__ Random(unsigned seed, unsigned position) {
    a = mix32(seed ^ 0x9e3779b9u) ^ mix32(position + 0x3c6ef372u);
    b = mix32(0x78dde6e4u) ^ mix32(0x1b873593u);
    c = mix32(a) ^ mix32(0xdaa66d2bu);
    d = 1;
    for (int i = 0; i < 12; i++) bits();
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
