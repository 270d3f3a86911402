// The op `place`: a box of the picture, resized, of which a window is made, mirrored. Along x first, with bytes in
// between, then along y, as ../../twins/place.ts does it. What needs no filtering is a view and costs nothing.
//
//   box ──along x──► lines: a word for each pixel ──along y──► window
#pragma once
#include "picture.cuh"
#include "row.cuh"
#include "weights.cuh"

/**
 * Memory of the block: the picture between the passes, with a line to spare, and the tables of both axes. A pixel is a
 * word there, red in its lowest byte, so that it is read and written at once.
 */
struct PlaceMemory {
  unsigned* lines;
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
  axis.pairs = carve<int>(memory, axis.count * ((curve.mostTaps() + 1) / 2));
  // The greatest weight of all outputs decides, also of those that are not made.
  int least = MOST_BITS;
  for (int i = threadIdx.x; i < axis.output; i += blockDim.x) least = min(least, bitsOf(curve, i));
  atomicMin(bits, least);
}

__device__ inline void fill(Axis& axis, int bits, int* taps) {
  if (!axis.resized()) return;
  axis.shift = bits;
  Curve curve(axis);
  int most = 0;
  for (int i = threadIdx.x; i < axis.count; i += blockDim.x) most = max(most, weigh(axis, curve, i));
  atomicMax(taps, most);
}

/** The tables of both axes, made by all threads. */
__device__ __noinline__ inline void makeTables(Axis& x, Axis& y, u8* memory) {
  __shared__ int bitsX, bitsY; // fractional bits of the weights
  __shared__ int tapsX, tapsY;
  if (threadIdx.x == 0) bitsX = bitsY = MOST_BITS, tapsX = tapsY = 0;
  __syncthreads();
  prepare(x, memory, &bitsX);
  prepare(y, memory, &bitsY);
  __syncthreads();
  fill(x, bitsX, &tapsX);
  fill(y, bitsY, &tapsY);
  __syncthreads();
  x.most = tapsX;
  y.most = tapsY;
}

/** A pixel as a weighed sum. */
struct Sum {
  int shift, red, green, blue;

  __device__ explicit Sum(int shift) : shift(shift), red(1 << (shift - 1)), green(red), blue(red) {}

  __device__ void add(int weight, const u8* p) {
    red += weight * p[0];
    green += weight * p[1];
    blue += weight * p[2];
  }

  /** Two pixels, by their weights. */
  __device__ void add(int pair, unsigned p, unsigned q) {
    red = paired(pair, __byte_perm(p, q, 0x40), red);
    green = paired(pair, __byte_perm(p, q, 0x51), green);
    blue = paired(pair, __byte_perm(p, q, 0x62), blue);
  }

  __device__ Pixel pixel() const { return {rounded(red), rounded(green), rounded(blue)}; }

  __device__ u8 rounded(int sum) const { return (u8)min(max(sum >> shift, 0), 255); }

  /** `sum`, and each of two bytes times its weight. */
  __device__ static int paired(int pair, unsigned bytes, int sum) {
#ifdef __CUDA_ARCH__
    asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(bytes));
    return sum;
#else
    return sum + (short)pair * (int)(bytes & 255) + (pair >> 16) * (int)(bytes >> 8 & 255);
#endif
  }
};

/** Takes pixels as words. */
struct WordSink {
  unsigned* at;
  int width;

  __device__ void put(int x, int y, Pixel p) const { at[y * width + x] = p.red | p.green << 8 | p.blue << 16; }
};

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

/** So many threads share the lines of a column. */
constexpr int SHARING = 8;

/**
 * Along x: all lines of `from` become as wide as the window. A thread stays in its column, with its weights at hand;
 * missing taps have none. TAPS are enough for every output.
 */
template <int TAPS>
__device__ void across(Axis x, Picture from, WordSink sink) {
  for (int i = threadIdx.x; i < x.count * SHARING; i += blockDim.x) {
    int column = i % x.count, last = x.taps[column] - 1;
    int weights[TAPS], offsets[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
      int pair = k <= last ? x.pairs[k / 2 * x.count + column] : 0;
      weights[k] = k % 2 ? pair >> 16 : (short)pair;
      offsets[k] = min(k, last) * from.right;
    }
    int y = i / x.count;
    const u8* p = from.address(x.first[column], y);
    for (; y < from.height; y += SHARING, p += SHARING * from.down) {
      Sum sum(x.shift);
#pragma unroll
      for (int k = 0; k < TAPS; k++) sum.add(weights[k], p + offsets[k]);
      sink.put(column, y, sum.pixel());
    }
  }
}

/** The same for any number of taps. */
__device__ __noinline__ inline void acrossByMany(Axis x, Picture from, WordSink sink) {
  for (Walk at(x.count, from.height); at.inside(); at.next()) {
    const u8* p = from.address(x.first[at.x], at.y);
    Sum sum(x.shift);
    for (int k = 0; k < x.taps[at.x]; k++, p += from.right) {
      int pair = x.pairs[k / 2 * x.count + at.x];
      sum.add(k % 2 ? pair >> 16 : (short)pair, p);
    }
    sink.put(at.x, at.y, sum.pixel());
  }
}

__device__ __noinline__ inline void fillLines(Axis x, Picture from, WordSink sink) {
  if (!x.resized()) {
    Picture window = from.part(x.from, 0, x.count, from.height);
    for (Walk at(x.count, from.height); at.inside(); at.next()) sink.put(at.x, at.y, window.pixel(at.x, at.y));
    return;
  }
  switch (x.most) {
    case 1:
    case 2: return across<2>(x, from, sink); // enlarged
    case 3: return across<3>(x, from, sink);
    case 4: return across<4>(x, from, sink);
    case 5: return across<5>(x, from, sink);
    case 6: return across<6>(x, from, sink);
    default: return acrossByMany(x, from, sink);
  }
}

/** Along y: all columns of `lines` become as high as the window. Taps are taken two by two: a line more is read. */
template <class Sink>
__device__ void down(Axis y, const unsigned* lines, int width, Sink sink) {
  for (Walk at(width, y.count); at.inside(); at.next()) {
    const unsigned* p = lines + y.first[at.y] * width + at.x;
    const int* pair = y.pairs + at.y;
    Sum sum(y.shift);
    for (int left = y.taps[at.y]; left > 0; left -= 2, p += 2 * width, pair += y.count) sum.add(*pair, p[0], p[width]);
    sink.put(at.x, at.y, sum.pixel());
  }
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
  if (x.filter == NEAREST) {
    pick(place, sink);
  } else {
    makeTables(x, y, memory.tables);
    // Of the box, only lines that the window needs.
    int top = y.resized() ? y.first[0] : y.from;
    int height = y.resized() ? y.first[y.count - 1] + y.taps[y.count - 1] - top : y.count;
    fillLines(x, place.box.part(0, top, place.box.width, height), WordSink{memory.lines, x.count});
    __syncthreads();
    if (y.resized()) {
      down(y, memory.lines - top * x.count, x.count, sink); // as if all lines were there: none above is read
    } else {
      for (Walk at(x.count, y.count); at.inside(); at.next()) {
        unsigned p = memory.lines[at.y * x.count + at.x];
        sink.put(at.x, at.y, {(u8)p, (u8)(p >> 8), (u8)(p >> 16)});
      }
    }
  }
  __syncthreads();
}
