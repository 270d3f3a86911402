// Ops of one factor, and channels in another order.
#pragma once
#include "color.cuh"

__shared__ unsigned long long luminanceTotal;

__device__ inline Picture brightness(Op op, Picture from, u8* to) {
  float factor = op.real(1);
  return byTables(from, to, [&](int, int x) -> u8 { return toByte((float)x * factor); });
}

__device__ inline double meanLuminance(Picture picture) {
  if (threadIdx.x == 0) luminanceTotal = 0;
  __syncthreads();
  unsigned long long sum = 0;
  for (Walk at(picture.width, picture.height); at.inside(); at.next()) sum += luminance(picture.pixel(at.x, at.y));
  atomicAdd(&luminanceTotal, sum);
  __syncthreads();
  return (double)luminanceTotal / ((double)picture.width * picture.height);
}

/** Blends with the mean luminance of the whole picture. */
__device__ inline Picture contrast(Op op, Picture from, u8* to) {
  float factor = op.real(1);
  // The product is exact in a double: torch fuses it with the sum.
  double rest = (double)(float)meanLuminance(from) * (double)op.real(2);
  return byTables(from, to, [&](int, int x) -> u8 { return toByte((float)((double)((float)x * factor) + rest)); });
}

__device__ inline Picture saturation(Op op, Picture from, u8* to) {
  float factor = op.real(1), rest = op.real(2);
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    Pixel p = from.pixel(x, y);
    float gray = (float)luminance(p) * rest;
    return {toByte((float)p.red * factor + gray), toByte((float)p.green * factor + gray),
            toByte((float)p.blue * factor + gray)};
  });
}

/** One channel of a turned hue: `turned` is the hue in sixths of the circle with the channel's own offset added. */
__device__ inline u8 hueChannel(float turned, float max, float range) {
  float k = turned - 6.0f * floorf(turned * (float)(1.0 / 6.0));
  float share = fminf(fmaxf(fminf(k, 4.0f - k), 0.0f), 1.0f);
  return toByte((max - range * share) * HUE_SCALE);
}

__device__ inline Picture hue(Op op, Picture from, u8* to) {
  float turn = op.real(1); // in sixths
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    Pixel p = from.pixel(x, y);
    float r = p.red, g = p.green, b = p.blue;
    float most = fmaxf(fmaxf(r, g), b);
    float range = most - fminf(fminf(r, g), b);
    float divisor = fmaxf(range, 1.0f);
    float sixths = most == r   ? (g - b) / divisor
                   : most == g ? (b - r) / divisor + 2.0f
                               : (r - g) / divisor + 4.0f;
    float h = sixths + turn;
    return {hueChannel(h + 5.0f, most, range), hueChannel(h + 3.0f, most, range), hueChannel(h + 1.0f, most, range)};
  });
}

/** Channel c becomes what channel whole(1 + c) was. */
__device__ inline Picture permute(Op op, Picture from, u8* to) {
  int red = op.whole(1), green = op.whole(2), blue = op.whole(3);
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    const u8* p = from.address(x, y);
    return {p[red], p[green], p[blue]};
  });
}
