// Pixels as weighed sums of others, two by two where they are words, or lie side by side.
#pragma once
#include "picture.cuh"

/** A pixel as a weighed sum. */
struct Sum {
  int shift, red, green, blue;

  __device__ explicit Sum(int shift) : shift(shift), red(1 << (shift - 1)), green(red), blue(red) {}

  __device__ void add(int weight, const u8* p) {
    red += weight * p[0];
    green += weight * p[1];
    blue += weight * p[2];
  }

  /** Two pixels with their weights. `order`: which of the 8 bytes of low and high are their reds; the rest follows. */
  __device__ void add(int pair, unsigned low, unsigned high, unsigned order) {
    red = paired(pair, __byte_perm(low, high, order), red);
    green = paired(pair, __byte_perm(low, high, order + 0x11), green);
    blue = paired(pair, __byte_perm(low, high, order + 0x22), blue);
  }

  __device__ Pixel pixel() const { return {rounded(red), rounded(green), rounded(blue)}; }

  __device__ unsigned word() const { return rounded(red) | rounded(green) << 8 | rounded(blue) << 16; }

  __device__ u8 rounded(int sum) const { return (u8)min(max(sum >> shift, 0), 255); }

  /** `sum`, and each of two bytes times its weight. */
  __device__ static int paired(int pair, unsigned bytes, int sum) {
#ifdef __CUDA_ARCH__
    asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
#else
    return sum + (short)pair * (int)(bytes & 255) + (pair >> 16) * (int)(bytes >> 8 & 255);
#endif
  }
};

/** Pixels that lie side by side, brought together from whole words: faster than byte by byte. */
template <int PAIRS>
struct Neighbours {
  static constexpr int WORDS = (6 * PAIRS + 3) / 4;
  unsigned bytes[WORDS];

  /** Those at p, of which `count` are needed: nothing is read behind the word in which they end. */
  __device__ Neighbours(const u8* p, int count) {
    unsigned skip = (unsigned)((unsigned long long)p & 3), last = (skip + 3 * count - 1) / 4;
    const unsigned* words = (const unsigned*)(p - skip);
    unsigned word = words[0];
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
      unsigned next = words[min(k + 1u, last)];
      bytes[k] = __funnelshift_r(word, next, 8 * skip);
      word = next;
    }
  }

  __device__ void addTo(Sum& sum, const int* pairs) const {
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      int at = 6 * k / 4;
      sum.add(pairs[k], bytes[at], bytes[at + 1], k % 2 ? 0x52 : 0x30);
    }
  }
};
