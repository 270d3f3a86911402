// Ops that change each pixel by itself, float32 as in ../../picture/lookups.ts and packages/pixels/test/transform/twins/color.ts. Those that treat
// channels alike or apart, not together, are done by tables of 256 bytes for each channel, in shared memory.
#pragma once
#include "facts.cuh"
#include "picture.cuh"
#include "row.cuh"

__shared__ u8 byteTables[3 * 256];
__shared__ unsigned histogram[3 * 256];
__shared__ unsigned long long luminanceTotal;

/** Every byte becomes value(channel, byte). */
template <class Value>
__device__ Picture byTables(Picture from, u8* to, Value value) {
  for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) byteTables[i] = value(i >> 8, i & 255);
  __syncthreads();
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    Pixel p = from.pixel(x, y);
    return {byteTables[p.red], byteTables[256 + p.green], byteTables[512 + p.blue]};
  });
}

/** Rounded down. */
__device__ inline int luminance(Pixel p) {
  return (int)((float)p.red * LUMINANCE_RED + (float)p.green * LUMINANCE_GREEN + (float)p.blue * LUMINANCE_BLUE);
}

__device__ inline Picture grayscale(Picture from, u8* to) {
  return drawn(to, from.width, from.height, [&](int x, int y) -> Pixel {
    u8 gray = (u8)luminance(from.pixel(x, y));
    return {gray, gray, gray};
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

__device__ inline Picture invert(Picture from, u8* to) {
  return byTables(from, to, [](int, int x) -> u8 { return (u8)(255 - x); });
}

/** Keeps the highest `bits` bits. */
__device__ inline Picture posterize(Op op, Picture from, u8* to) {
  int mask = 0xff & ~(0xff >> op.whole(1));
  return byTables(from, to, [&](int, int x) -> u8 { return (u8)(x & mask); });
}

/** Inverts values from the threshold upwards. */
__device__ inline Picture solarize(Op op, Picture from, u8* to) {
  float threshold = op.real(1);
  return byTables(from, to, [&](int, int x) -> u8 { return (u8)((float)x >= threshold ? 255 - x : x); });
}

/** How often each value of each channel occurs. */
__device__ inline void countValues(Picture picture) {
  for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) histogram[i] = 0;
  __syncthreads();
  for (Walk at(picture.width, picture.height); at.inside(); at.next()) {
    Pixel p = picture.pixel(at.x, at.y);
    atomicAdd(&histogram[p.red], 1u);
    atomicAdd(&histogram[256 + p.green], 1u);
    atomicAdd(&histogram[512 + p.blue], 1u);
  }
  __syncthreads();
}

/** Stretches the values that occur to 0…255; a single value stays. */
__device__ inline Picture autocontrast(Picture from, u8* to) {
  __shared__ int ends[3][2]; // the lowest and the highest value of each channel
  countValues(from);
  for (int c = threadIdx.x; c < 3; c += blockDim.x) {
    int low = 0, high = 255;
    while (histogram[c * 256 + low] == 0) low++;
    while (histogram[c * 256 + high] == 0) high--;
    ends[c][0] = low;
    ends[c][1] = high;
  }
  __syncthreads();
  return byTables(from, to, [&](int c, int x) -> u8 {
    int low = ends[c][0], high = ends[c][1];
    float unit = (float)(high - low) * (float)(1.0 / 255);
    return low == high ? (u8)x : toByte((float)(x - low) / unit);
  });
}

/** Makes the histogram flat, by Pillow's scheme: the highest value that occurs does not count. */
__device__ inline Picture equalize(Picture from, u8* to) {
  __shared__ unsigned steps[3];
  countValues(from);
  for (int c = threadIdx.x; c < 3; c += blockDim.x) {
    // The counts become the numbers of values below each.
    unsigned below = 0, last = 0;
    for (int i = c * 256; i < (c + 1) * 256; i++) {
      unsigned count = histogram[i];
      histogram[i] = below;
      below += count;
      if (count > 0) last = count;
    }
    steps[c] = (below - last) / 255;
  }
  __syncthreads();
  return byTables(from, to, [&](int c, int x) -> u8 {
    unsigned step = steps[c];
    return step == 0 ? (u8)x : (u8)min(255u, (histogram[c * 256 + x] + (step >> 1)) / step);
  });
}
