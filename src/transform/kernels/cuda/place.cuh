// The op `place`: a box of the picture, resized, of which a window is made, mirrored. Along x first, with bytes in
// between, then along y, as ../../twins/place.ts does it. What needs no filtering is a view and costs nothing.
#pragma once
#include "picture.cuh"
#include "row.cuh"
#include "weights.cuh"

/** Memory of the block: the picture between the passes, and the tables of both axes. */
struct PlaceMemory {
  u8* lines;
  u8* tables;
};

struct Place {
  Picture box;
  Axis x, y;
  bool flipX, flipY;

  __device__ Place(Op op, Picture from)
      : box(from.part(op.whole(1), op.whole(2), op.whole(3), op.whole(4))),
        x(axis(op, box.width, 0)), y(axis(op, box.height, 1)),
        flipX(op.whole(13) & 1), flipY(op.whole(13) >> 1 & 1) {}

  __device__ static Axis axis(Op op, int input, int which) {
    Axis axis = {input, op.whole(5 + which), op.whole(7 + which), op.whole(9 + which), op.whole(11), op.whole(12) != 0};
    return axis;
  }

  __device__ bool resizes() const { return x.resized() || y.resized(); }

  /** What is left when nothing is resized. */
  __device__ Picture view() const { return box.part(x.from, y.from, x.count, y.count).mirrored(flipX, flipY); }
};

/** Takes the next part of some memory, aligned to 16 bytes. */
template <class T>
__device__ T* carve(u8*& memory, int elements) {
  T* part = (T*)memory;
  memory += (elements * (int)sizeof(T) + 15) / 16 * 16;
  return part;
}

/** Finds room for an axis' tables, and lowers `bits` to what its weights allow. */
__device__ inline void prepare(Axis& axis, u8*& memory, int* bits) {
  if (!axis.resized()) return;
  Curve curve(axis);
  axis.first = carve<int>(memory, axis.count);
  axis.taps = carve<int>(memory, axis.count);
  axis.weights = carve<short>(memory, axis.count * curve.mostTaps());
  // The greatest weight of all outputs decides, also of those that are not made.
  int least = MOST_BITS;
  for (int i = threadIdx.x; i < axis.output; i += blockDim.x) least = min(least, bitsOf(curve, i));
  atomicMin(bits, least);
}

__device__ inline void fill(Axis& axis, int bits) {
  if (!axis.resized()) return;
  axis.shift = bits;
  Curve curve(axis);
  for (int i = threadIdx.x; i < axis.count; i += blockDim.x) weigh(axis, curve, i);
}

/** The tables of both axes, made by all threads. */
__device__ __noinline__ inline void makeTables(Axis& x, Axis& y, u8* memory) {
  __shared__ int bitsX, bitsY; // fractional bits of the weights
  if (threadIdx.x == 0) bitsX = bitsY = MOST_BITS;
  __syncthreads();
  prepare(x, memory, &bitsX);
  prepare(y, memory, &bitsY);
  __syncthreads();
  fill(x, bitsX);
  fill(y, bitsY);
  __syncthreads();
}

__device__ inline u8 rounded(int sum, int shift) {
  return (u8)min(max(sum >> shift, 0), 255);
}

/**
 * Output i along an axis, made of pixels `step` bytes apart that begin at `line`. Taps are taken two by two, so that
 * their loads are under way together: enlarging, two are all there are.
 */
__device__ inline Pixel weighed(const Axis& axis, int i, const u8* line, int step) {
  const u8* p = line + axis.first[i] * step;
  const short* weight = axis.weights + i;
  int taps = axis.taps[i];
  int red = 1 << (axis.shift - 1), green = red, blue = red;
#pragma unroll 1
  for (int k = 0; k < taps; k += 2, p += 2 * step, weight += 2 * axis.count) {
    bool both = k + 1 < taps;
    const u8* q = both ? p + step : p;
    int w = weight[0], v = weight[both ? axis.count : 0];
    if (!both) v = 0;
    red += w * p[0] + v * q[0];
    green += w * p[1] + v * q[1];
    blue += w * p[2] + v * q[2];
  }
  return {rounded(red, axis.shift), rounded(green, axis.shift), rounded(blue, axis.shift)};
}

/** Gives pixels to a sink at their mirrored places. */
template <class Sink>
struct Mirror {
  Sink sink;
  int left, top; // x and y of the first pixel; from there it goes right or left, down or up
  int stepX, stepY;

  __device__ Mirror(const Sink& sink, const Place& place)
      : sink(sink), left(place.flipX ? place.x.count - 1 : 0), top(place.flipY ? place.y.count - 1 : 0),
        stepX(place.flipX ? -1 : 1), stepY(place.flipY ? -1 : 1) {}

  __device__ void put(int x, int y, Pixel pixel) const { sink.put(left + stepX * x, top + stepY * y, pixel); }
};

/** Along x: all lines of `from` become as wide as the window. */
template <class Sink>
__device__ void across(Axis x, Picture from, Sink sink) {
  for (Walk at(x.count, from.height); at.inside(); at.next())
    sink.put(at.x, at.y, weighed(x, at.x, from.address(0, at.y), from.right));
}

/** Along y: all columns of `from` become as high as the window. */
template <class Sink>
__device__ void down(Axis y, Picture from, Sink sink) {
  for (Walk at(from.width, y.count); at.inside(); at.next())
    sink.put(at.x, at.y, weighed(y, at.y, from.address(at.x, 0), from.down));
}

/** Nearest neighbours, along both axes at once. */
template <class Sink>
__device__ void pick(Place place, Sink sink) {
  Nearest x(place.x), y(place.y);
  for (Walk at(place.x.count, place.y.count); at.inside(); at.next())
    sink.put(at.x, at.y, place.box.pixel(x(at.x), y(at.y)));
}

/** Gives the window's pixels to `sink`; for a place that resizes. */
template <class Sink>
__device__ __noinline__ void resize(Place place, PlaceMemory memory, Sink plainSink) {
  Mirror<Sink> sink(plainSink, place);
  Axis &x = place.x, &y = place.y;
  Picture& box = place.box;
  if (x.filter == NEAREST) {
    pick(place, sink);
  } else {
    makeTables(x, y, memory.tables);
    if (!x.resized()) {
      down(y, box.part(x.from, 0, x.count, box.height), sink);
    } else if (!y.resized()) {
      across(x, box.part(0, y.from, box.width, y.count), sink);
    } else {
      // Of the box, only lines that the window needs.
      int top = y.first[0];
      int height = y.first[y.count - 1] + y.taps[y.count - 1] - top;
      across(x, box.part(0, top, box.width, height), PixelSink{memory.lines, x.count});
      __syncthreads();
      // As if all lines were there: none above is read.
      down(y, packed(memory.lines - top * x.count * 3, x.count, box.height), sink);
    }
  }
  __syncthreads();
}
