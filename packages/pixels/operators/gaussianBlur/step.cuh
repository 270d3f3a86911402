// Float32 as in packages/pixels/test/transform/twins/filter.ts.
#pragma once
#include "picture.cuh"
#include "row.cuh"

constexpr int MOST_RADIUS = 127; // kernels have at most 255 taps
constexpr int MOST_LINES = 256;  // that are blurred at a time

/** Halves of the kernels, the middle first. */
__shared__ float gaussX[MOST_RADIUS + 1], gaussY[MOST_RADIUS + 1];
/** Where the lines around them begin, from the first: mirrored at the edges, so that inner loops need not ask. */
__shared__ int lineStarts[MOST_LINES + 2 * MOST_RADIUS];

/** Half of a Gaussian of `size` taps whose sum is 1; returns its radius. */
__device__ inline int gaussian(float* half, int size, double sigma) {
  __shared__ double weights[MOST_RADIUS + 1];
  int radius = size >> 1;
  for (int i = threadIdx.x; i <= radius; i += blockDim.x) weights[i] = exp(-((i / sigma) * (i / sigma)) / 2);
  __syncthreads();
  double sum = -weights[0];
  for (int i = 0; i <= radius; i++) sum = sum + 2 * weights[i];
  for (int i = threadIdx.x; i <= radius; i += blockDim.x) half[i] = (float)(weights[i] / sum);
  __syncthreads();
  return radius;
}

/** Mirrors an index into 0…n−1 without repeating the edge. */
__device__ inline int fold(int i, int n) {
  if (n == 1) return 0;
  while ((unsigned)i >= (unsigned)n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

/** Column `column` of line `line` of the strip, blurred along y, to `to`. */
__device__ inline void blurDown(const u8* column, int line, int radius, float* to) {
  const int* middle = lineStarts + line + radius;
  const u8* p = column + middle[0];
  float red = (float)p[0] * gaussY[0], green = (float)p[1] * gaussY[0], blue = (float)p[2] * gaussY[0];
#pragma unroll 4
  for (int k = 1; k <= radius; k++) {
    const u8 *above = column + middle[-k], *below = column + middle[k];
    red = red + (float)(above[0] + below[0]) * gaussY[k];
    green = green + (float)(above[1] + below[1]) * gaussY[k];
    blue = blue + (float)(above[2] + below[2]) * gaussY[k];
  }
  to[0] = red;
  to[1] = green;
  to[2] = blue;
}

/** The pixel at `middle` of the strip, blurred along x. */
__device__ inline Pixel blurAcross(const float* middle, int radius) {
  float red = middle[0] * gaussX[0], green = middle[1] * gaussX[0], blue = middle[2] * gaussX[0];
#pragma unroll 4
  for (int k = 1; k <= radius; k++) {
    const float *left = middle - 3 * k, *right = middle + 3 * k;
    red = red + (left[0] + right[0]) * gaussX[k];
    green = green + (left[1] + right[1]) * gaussX[k];
    blue = blue + (left[2] + right[2]) * gaussX[k];
  }
  return {(u8)(int)rintf(red), (u8)(int)rintf(green), (u8)(int)rintf(blue)};
}

/** Part by part: along y into a strip of shared memory, with a margin for the kernel along x, and from there along x. */
__device__ inline Picture blur(Op op, Picture from, u8* to) {
  int radiusX = gaussian(gaussX, op.whole(1), op.precise(3));
  int radiusY = gaussian(gaussY, op.whole(2), op.precise(5));
  float* strip = (float*)room;
  const int pixels = ROOM / 3; // even the widest kernel leaves most of them
  int width = min(from.width, pixels - 2 * radiusX);
  int height = min(min(from.height, pixels / (width + 2 * radiusX)), MOST_LINES);
  PixelSink sink = {to, from.width};
  for (int top = 0; top < from.height; top += height)
    for (int left = 0; left < from.width; left += width) {
      int partWidth = min(width, from.width - left), partHeight = min(height, from.height - top);
      int margined = partWidth + 2 * radiusX;
      for (int i = threadIdx.x; i < partHeight + 2 * radiusY; i += blockDim.x)
        lineStarts[i] = fold(top + i - radiusY, from.height) * from.down;
      __syncthreads();
      for (Walk at(margined, partHeight); at.inside(); at.next()) {
        const u8* column = from.address(fold(left + at.x - radiusX, from.width), 0);
        blurDown(column, at.y, radiusY, strip + (at.y * margined + at.x) * 3);
      }
      __syncthreads();
      for (Walk at(partWidth, partHeight); at.inside(); at.next()) {
        const float* middle = strip + (at.y * margined + at.x + radiusX) * 3;
        sink.put(left + at.x, top + at.y, blurAcross(middle, radiusX));
      }
      __syncthreads();
    }
  return packed(to, from.width, from.height);
}
