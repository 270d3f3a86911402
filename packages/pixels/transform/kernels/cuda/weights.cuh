// Weights of a resize along one axis, in 16-bit fixed point: the same numbers, in the same order of operations, as
// ../../place/weights.ts. Every thread weighs outputs of its own.
#pragma once
#include "facts.cuh"
#include "row.cuh"

/** The inputs of an output. */
struct __align__(8) Span {
  int first, taps;
};

/** `input` pixels become `output`; only outputs `from` to `from + count − 1` are made. */
struct Axis {
  int input, output, from, count;
  int filter;
  bool antialias;

  // The tables, of `count` outputs each. Weights go in pairs, 16 bits each: those of taps 2k and 2k + 1 of output i are
  // pairs[k · count + i], so that threads that make neighbouring outputs read neighbouring weights.
  Span* spans;
  int* pairs;
  int shift;
  int most; // taps of an output
  // Weights before they are rounded, of all outputs, since the greatest decides how: exact[k · output + i].
  double* exact;

  __device__ bool resized() const { return input != output; }
};

/** The inputs that make one output: from…to−1; those beyond the edge count as the edge, so that low…high remain. */
struct Window {
  double centre;
  int from, to, low, high;
};

/** The filter, stretched for one axis. */
struct Curve {
  int input;
  bool antialias, bilinear;
  double scale, stretch, support;

  __device__ static Curve of(const Axis& axis) {
    double scale = (double)axis.input / axis.output;
    double stretch = axis.antialias && scale > 1 ? scale : 1;
    bool bilinear = axis.filter == Filter::BILINEAR;
    return {axis.input, axis.antialias, bilinear, scale, stretch, (bilinear ? 1 : 2) * stretch};
  }

  __device__ int mostTaps() const { return min(input, 2 * (int)ceil(support) + 1); }

  __device__ Window window(int i) const {
    double centre = scale * (i + 0.5);
    int from = (int)floor(centre - support + 0.5);
    int to = antialias ? min(input, (int)floor(centre + support + 0.5)) : from + 2 * (int)support;
    if (antialias) from = max(0, from);
    return {centre, from, to, min(input - 1, max(0, from)), min(input - 1, to - 1)};
  }

  __device__ double at(double x) const {
    x = fabs(x);
    if (bilinear) return fmax(0.0, 1 - x);
    const double a = antialias ? -0.5 : -0.75;
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
  }
};

/** Finds the exact weights of output i. Returns the greatest of them. */
__device__ inline double weighExactly(const Axis& axis, const Curve& curve, int i) {
  Window w = curve.window(i);
  double* exact = axis.exact + i;
  double total = 0, greatest = 0, tap = 0;
#pragma unroll 1 // divisions are long
  for (int j = w.from; j < w.to; j++) {
    double weight = curve.at((j - w.centre + 0.5) / curve.stretch);
    total += weight;
    // Inputs beyond the edge count as the edge: their weights belong to its tap.
    bool beyond = j <= w.low || j > w.high;
    tap = beyond ? tap + weight : weight;
    exact[(min(max(j, w.low), w.high) - w.low) * axis.output] = tap;
  }
#pragma unroll 1
  for (int k = 0; k <= w.high - w.low; k++) {
    double weight = exact[k * axis.output] / total;
    exact[k * axis.output] = weight;
    greatest = fmax(greatest, weight);
  }
  return greatest;
}

/** The most fractional bits that all weights may have to fit 16 bits, by the greatest of them. */
__device__ inline int bitsFor(double weight) {
  int bits = 0;
  while (bits < MOST_BITS && floor(0.5 + weight * (double)(1 << (bits + 1))) < 32768) bits++;
  return bits;
}

/** Makes the tables' entries of output i of those that are made. Returns the number of its taps. */
__device__ inline int weigh(const Axis& axis, const Curve& curve, int i) {
  Window w = curve.window(axis.from + i);
  const double* exact = axis.exact + axis.from + i;
  double one = (double)(1 << axis.shift);
  int taps = w.high - w.low + 1;
  axis.spans[i] = {w.low, taps};
  unsigned before = 0;
  for (int k = 0; k < taps; k++) {
    double scaled = exact[k * axis.output] * one;
    int weight = (int)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    // The last one of an odd number is paired with nothing.
    axis.pairs[k / 2 * axis.count + i] = k % 2 ? (int)(before | (unsigned)weight << 16) : weight & 0xffff;
    before = weight & 0xffff;
  }
  return taps;
}

/** Nearest neighbours: output i is input floor(i · scale), in float32, as torch has it. */
struct Nearest {
  int from, last;
  float scale;
  bool doubled;

  __device__ explicit Nearest(const Axis& axis)
      : from(axis.from), last(axis.input - 1), scale((float)((double)axis.input / axis.output)),
        doubled(axis.output == 2 * axis.input) {}

  /** The input of output i of those that are made. Without a resize, the scale is 1. */
  __device__ int operator()(int i) const {
    i += from;
    return doubled ? i >> 1 : min(last, (int)floorf((float)i * scale));
  }
};
