// The op `elastic`: every pixel is fetched from its own place and a displacement. Displacements are noise that depends on a
// key and the place alone, blurred by Gaussians, float32 as in step.ts.
#pragma once
#include "gaussianBlur/step.cuh"
#include "picture.cuh"
#include "random.cuh"
#include "row.cuh"
#include "warp.cuh"

/** Uniform in [-1, 1), 24 bits. */
__device__ inline float noiseAt(unsigned key, int place) {
  return (float)(mix32((unsigned)place * WEYL + key) >> 8) * (1.0f / 8388608.0f) - 1.0f;
}

/** Taps of a Gaussian, four sigmas to each side, odd. */
__device__ inline int elasticTaps(double sigma) { return (int)(8 * sigma + 1) | 1; }

/** Blurs the noise along y, to `to`, by gaussY. */
__device__ inline void blurNoise(unsigned key, int width, int height, int radius, float* to) {
  for (Walk at(width, height); at.inside(); at.next()) {
    float sum = noiseAt(key, at.y * width + at.x) * gaussY[0];
    for (int k = 1; k <= radius; k++) {
      float above = noiseAt(key, fold(at.y - k, height) * width + at.x);
      float below = noiseAt(key, fold(at.y + k, height) * width + at.x);
      sum = sum + (above + below) * gaussY[k];
    }
    to[at.y * width + at.x] = sum;
  }
  __syncthreads();
}

/** A line's value at x, blurred along it. */
__device__ inline float blurLine(const float* line, int x, int width, const float* weights, int radius) {
  float sum = line[x] * weights[0];
  for (int k = 1; k <= radius; k++) sum = sum + (line[fold(x - k, width)] + line[fold(x + k, width)]) * weights[k];
  return sum;
}

/** The place of pixel i of n, from -1 to 1, as torch.linspace has it. */
__device__ inline float placeOf(int i, int n) {
  float first = (float)((1.0 - n) / n), last = (float)((n - 1.0) / n);
  float step = n > 1 ? (float)(((double)last - (double)first) / (n - 1)) : 0.0f;
  double place = i < n >> 1 ? (double)first + (double)step * i : (double)last - (double)step * (n - 1 - i);
  return (float)place;
}

/** `tables` has room for two floats a pixel. */
__device__ inline Picture elastic(Op op, Picture from, u8* tables, u8* to) {
  float* shifts = (float*)tables;
  unsigned seed = (unsigned)op.whole(1);
  float alphaX = op.real(2), alphaY = op.real(3);
  double sigmaX = op.precise(4), sigmaY = op.precise(6);
  int tapsX = elasticTaps(sigmaX), tapsY = elasticTaps(sigmaY);
  // Where there is no blur, one tap of any sigma: the noise itself.
  if (sigmaX == 0) sigmaX = 1;
  if (sigmaY == 0) sigmaY = 1;
  int width = from.width, height = from.height;
  float *shiftsX = shifts, *shiftsY = shifts + width * height;
  blurNoise(mix32(seed), width, height, gaussian(gaussY, tapsX, sigmaY), shiftsX);
  blurNoise(mix32(seed + WEYL), width, height, gaussian(gaussY, tapsY, sigmaY), shiftsY);
  int radiusX = gaussian(gaussX, tapsX, sigmaX), radiusY = gaussian(gaussY, tapsY, sigmaX);
  Warp warp = warpOf(op, 8, from);
  return drawn(to, width, height, [&](int x, int y) -> Pixel {
    float shiftX = blurLine(shiftsX + y * width, x, width, gaussX, radiusX) * alphaX / (float)width;
    float shiftY = blurLine(shiftsY + y * width, x, width, gaussY, radiusY) * alphaY / (float)height;
    return warp.fetch(placeOf(x, width) + shiftX, placeOf(y, height) + shiftY);
  });
}
