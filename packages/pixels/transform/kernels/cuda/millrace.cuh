// For kernels that generate a batch: `source: {"kernel": {"file": "gen.cu", "entry": "generate", "fields": …}}`.
//
//   #include "millrace.cuh"
//
//   extern "C" __global__ void generate(millrace::Batch batch, float* noise) {
//     const unsigned long long elements = 3 * 224 * 224; // of one row
//     if (millrace::element() >= elements) return;
//     millrace::Philox random(batch, millrace::element());
//     noise[millrace::row() * elements + millrace::element()] = random.normal();
//   }
//
// It is launched with a grid of ceil(threads / 256) × count blocks of 256 threads: `row()` is the row of the batch that
// a thread works on, `element()` its number within the row. What it draws depends on (seed, epoch, position, stream)
// alone, so that the same batch comes out again, after a resume and on any device.
#pragma once

namespace millrace {

/** The batch to be made; the kernel's first argument. 40 bytes. */
struct Batch {
  unsigned long long seed, epoch;
  /** For each row: its position in the epoch, and its number in the source. */
  const long long* positions;
  const long long* rows;
  int count;
};

__device__ inline unsigned row() { return blockIdx.y; }

__device__ inline unsigned long long element() {
  return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}

/** Four words of 32 bits. */
struct Four {
  unsigned x, y, z, w;
};

/** Philox 4×32-10 (Salmon and others, 2011): a bijection of the counter, chosen by the key. */
__device__ inline Four philox(Four counter, unsigned key0, unsigned key1) {
  for (int round = 0; round < 10; round++) {
    unsigned long long a = 0xd2511f53ull * counter.x, b = 0xcd9e8d57ull * counter.z;
    counter = {(unsigned)(b >> 32) ^ counter.y ^ key0, (unsigned)b, (unsigned)(a >> 32) ^ counter.w ^ key1, (unsigned)a};
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return counter;
}

/**
 * A stream of random numbers: the counter is (draw, stream, position, epoch), the key is the seed. Every thread may have
 * a stream of its own, of up to 2³² draws of four words. What exceeds 32 bits goes into the key.
 */
struct Philox {
  /** For the row at hand. `stream` keeps apart what should differ within a row, such as its threads. */
  __device__ Philox(const Batch& batch, unsigned long long stream = 0)
      : Philox(batch.seed, batch.epoch, batch.positions[row()], stream) {}

  __device__ Philox(unsigned long long seed, unsigned long long epoch, long long position, unsigned long long stream)
      : counter{0, (unsigned)stream, (unsigned)position, (unsigned)epoch}, key0((unsigned)seed),
        key1((unsigned)(seed >> 32) ^ (unsigned)(stream >> 32) * 0x9e3779b1u ^
             (unsigned)(position >> 32) * 0x85ebca77u ^ (unsigned)(epoch >> 32) * 0xc2b2ae3du) {}

  /** Four words at once. */
  __device__ Four next() {
    Four words = philox(counter, key0, key1);
    counter.x++;
    return words;
  }

  /** 32 random bits. */
  __device__ unsigned bits() {
    if (left == 0) ready = next(), left = 4;
    left--;
    return left == 3 ? ready.x : left == 2 ? ready.y : left == 1 ? ready.z : ready.w;
  }

  /** Uniform in [0, 1), 24 bits. */
  __device__ float uniform() { return (float)(bits() >> 8) * (1.0f / 16777216); }

  /** Uniform in [low, high). */
  __device__ float uniform(float low, float high) { return low + (high - low) * uniform(); }

  /** A whole number in [0, n); numbers differ in probability by less than n / 2³². */
  __device__ unsigned integer(unsigned n) { return (unsigned)((unsigned long long)bits() * n >> 32); }

  /** Standard normal, by Box and Muller; uses two words. */
  __device__ float normal() {
    float radius = sqrtf(-2 * logf(1 - uniform()));
    return radius * cosf(6.2831853f * uniform());
  }

 private:
  Four counter, ready{};
  unsigned key0, key1;
  int left = 0;
};

} // namespace millrace
