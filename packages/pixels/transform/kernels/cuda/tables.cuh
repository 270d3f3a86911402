// The tables of a resize along both axes, made by all threads of a block together.
#pragma once
#include "picture.cuh"
#include "weights.cuh"

/** Takes the next part of some memory, aligned to 16 bytes. */
template <class T>
__device__ T* carve(u8*& memory, int elements) {
  T* part = (T*)memory;
  memory += (elements * (int)sizeof(T) + 15) / 16 * 16;
  return part;
}

struct Axes {
  Axis x, y;
};

/** An axis while its tables are made, by all threads. */
struct Making {
  Axis axis;
  Curve curve;
  unsigned long long greatest; // weight: the bits of a double, whose order is that of the numbers, as none is negative

  __device__ void begin(Axis of, u8*& memory) {
    axis = of;
    axis.shift = axis.most = 0;
    greatest = 0;
    curve = Curve::of(axis);
    int most = curve.mostTaps();
    axis.spans = carve<Span>(memory, axis.count);
    axis.pairs = carve<int>(memory, axis.count * ((most + 1) / 2));
    axis.exact = carve<double>(memory, axis.output * most);
  }
};

/**
 * The axes with their tables, made of both at once. (That of an axis which is not resized changes nothing.) It is called
 * for every row, when hardly any of a GPU's instructions are at hand: the less code the better.
 */
__device__ __noinline__ inline Axes makeTables(Axis x, Axis y, u8* memory) {
  __shared__ Making making[2];
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < 2; i++) making[i].begin(i == 0 ? x : y, memory);
  }
  __syncthreads();
  int first = making[0].axis.output;
#pragma unroll 1
  for (int i = threadIdx.x; i < first + making[1].axis.output; i += blockDim.x) {
    Making& of = making[i < first ? 0 : 1];
    double greatest = weighExactly(of.axis, of.curve, i < first ? i : i - first);
    atomicMax(&of.greatest, (unsigned long long)__double_as_longlong(greatest));
  }
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < 2; i += blockDim.x)
    making[i].axis.shift = bitsFor(__longlong_as_double((long long)making[i].greatest));
  __syncthreads();
  first = making[0].axis.count;
#pragma unroll 1
  for (int i = threadIdx.x; i < first + making[1].axis.count; i += blockDim.x) {
    Making& of = making[i < first ? 0 : 1];
    atomicMax(&of.axis.most, weigh(of.axis, of.curve, i < first ? i : i - first));
  }
  __syncthreads();
  return {making[0].axis, making[1].axis};
}
