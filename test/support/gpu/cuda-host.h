// CUDA's words for C++ on a CPU, as far as our kernels use them: a block's threads are threads of the operating system,
// __syncthreads() is a barrier, and shared memory is static: blocks run one after the other. With the sanitizers, such
// a build finds reads out of bounds and missing barriers that a GPU would pass over in silence.
#pragma once
#include <pthread.h>

// All headers come before the words below, which some of them use themselves.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)

struct Dimensions {
  unsigned x, y, z;
};
inline thread_local Dimensions threadIdx, blockIdx;
inline Dimensions blockDim, gridDim;
inline pthread_barrier_t block_barrier;

inline void __syncthreads() {
  if (blockDim.x > 1) pthread_barrier_wait(&block_barrier);
}

template <class T>
T bits_as(const void* from) {
  T to;
  memcpy(&to, from, sizeof(T));
  return to;
}
inline float __uint_as_float(unsigned bits) { return bits_as<float>(&bits); }
inline unsigned __float_as_uint(float value) { return bits_as<unsigned>(&value); }
inline long long __double_as_longlong(double value) { return bits_as<long long>(&value); }
inline double __longlong_as_double(long long bits) { return bits_as<double>(&bits); }
inline double __hiloint2double(int high, int low) {
  uint64_t bits = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
  return bits_as<double>(&bits);
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return (unsigned)(((uint64_t)high << 32 | low) >> (bits & 31));
}
/** Four of the eight bytes of b:a, by the four lowest digits of `which`. */
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  uint64_t both = (uint64_t)b << 32 | a;
  unsigned bytes = 0;
  for (int i = 0; i < 4; i++) bytes |= (unsigned)(both >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  return bytes;
}

template <class T>
T min(T a, T b) { return b < a ? b : a; }
template <class T>
T max(T a, T b) { return a < b ? b : a; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return b < a ? b : a; }

template <class T>
T atomicAdd(T* to, T value) { return __atomic_fetch_add(to, value, __ATOMIC_RELAXED); }
/** Replaces what is there for as long as it is less than the value. */
template <class T>
T atomicMax(T* at, T value) {
  T now = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (now < value && !__atomic_compare_exchange_n(at, &now, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return now;
}
