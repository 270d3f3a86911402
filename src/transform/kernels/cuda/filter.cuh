// Ops that look at a pixel's neighbourhood, float32 as in ../../twins/filter.ts: sharpness and Gaussian blur.
#pragma once
#include "picture.cuh"
#include "row.cuh"

/** Blends each pixel with the mean around it, in which it counts five times. The rim stays. */
__device__ inline Picture sharpness(Op op, Picture from, u8* to) {
  float rest = op.real(1);
  auto channel = [&](const u8* p) -> u8 {
    int value = p[0], sum = 4 * value;
    for (int dy = -from.down, row = 0; row < 3; row++, dy += from.down)
      sum += p[dy - from.right] + p[dy] + p[dy + from.right];
    int blurred = (sum + 6) / 13; // to nearest: never halfway, as 13 is odd
    return toByte((float)value + (float)(blurred - value) * rest);
  };
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    if (x == 0 || y == 0 || x == from.width - 1 || y == from.height - 1) return from.pixel(x, y);
    const u8* p = from.address(x, y);
    return {channel(p), channel(p + 1), channel(p + 2)};
  });
}

constexpr int MOST_RADIUS = 127; // kernels have at most 255 taps
constexpr int STRIP = 6144;      // floats: 24 KiB, in which even the widest kernel leaves room for 1,794 pixels

/** Halves of the kernels, the middle first. */
__shared__ float gaussX[MOST_RADIUS + 1], gaussY[MOST_RADIUS + 1];
/** Lines blurred along y, on the way to being blurred along x. */
__shared__ float strip[STRIP];

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

/** Blurs along y into a strip of shared memory, wide enough for the kernel along x, and from there along x. */
__device__ inline Picture blur(Op op, Picture from, u8* to) {
  int radiusX = gaussian(gaussX, op.whole(1), op.precise(3));
  int radiusY = gaussian(gaussY, op.whole(2), op.precise(5));

  int room = STRIP / 3;
  int width = min(from.width, room - 2 * radiusX); // of the part that is made at a time
  int margined = width + 2 * radiusX;
  int height = min(from.height, room / margined);
  PixelSink sink = {to, from.width};
  for (int top = 0; top < from.height; top += height)
    for (int left = 0; left < from.width; left += width) {
      int partWidth = min(width, from.width - left), partHeight = min(height, from.height - top);
      for (Walk at(partWidth + 2 * radiusX, partHeight); at.inside(); at.next()) {
        const u8* column = from.address(fold(left + at.x - radiusX, from.width), 0);
        int y = top + at.y;
        const u8* p = column + y * from.down;
        float red = (float)p[0] * gaussY[0], green = (float)p[1] * gaussY[0], blue = (float)p[2] * gaussY[0];
        for (int k = 1; k <= radiusY; k++) {
          const u8* above = column + fold(y - k, from.height) * from.down;
          const u8* below = column + fold(y + k, from.height) * from.down;
          red = red + (float)(above[0] + below[0]) * gaussY[k];
          green = green + (float)(above[1] + below[1]) * gaussY[k];
          blue = blue + (float)(above[2] + below[2]) * gaussY[k];
        }
        float* blurred = strip + (at.y * margined + at.x) * 3;
        blurred[0] = red;
        blurred[1] = green;
        blurred[2] = blue;
      }
      __syncthreads();
      for (Walk at(partWidth, partHeight); at.inside(); at.next()) {
        const float* middle = strip + (at.y * margined + at.x + radiusX) * 3;
        float sum[3];
        for (int c = 0; c < 3; c++) {
          sum[c] = middle[c] * gaussX[0];
          for (int k = 1; k <= radiusX; k++) sum[c] = sum[c] + (middle[c - 3 * k] + middle[c + 3 * k]) * gaussX[k];
        }
        sink.put(left + at.x, top + at.y,
                 {(u8)(int)rintf(sum[0]), (u8)(int)rintf(sum[1]), (u8)(int)rintf(sum[2])});
      }
      __syncthreads();
    }
  return packed(to, from.width, from.height);
}
