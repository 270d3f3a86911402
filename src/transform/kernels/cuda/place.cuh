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

__device__ inline unsigned word(Pixel p) { return p.red | p.green << 8 | p.blue << 16; }
__device__ inline Pixel pixel(unsigned word) { return {(u8)word, (u8)(word >> 8), (u8)(word >> 16)}; }

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
    if (!axis.resized()) return;
    curve = Curve::of(axis);
    int most = curve.mostTaps();
    axis.spans = carve<Span>(memory, axis.count);
    axis.pairs = carve<int>(memory, axis.count * ((most + 1) / 2));
    axis.exact = carve<double>(memory, axis.output * most);
  }

  __device__ int outputs() const { return axis.resized() ? axis.output : 0; }
  __device__ int made() const { return axis.resized() ? axis.count : 0; }
};

/**
 * The axes with the tables of those that are resized, made of both at once. It is called for every row, when hardly any
 * of a GPU's instructions are at hand: the less code the better.
 */
__device__ __noinline__ inline Axes makeTables(Axis x, Axis y, u8* memory) {
  __shared__ Making making[2];
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int i = 0; i < 2; i++) making[i].begin(i == 0 ? x : y, memory);
  }
  __syncthreads();
  int first = making[0].outputs();
#pragma unroll 1
  for (int i = threadIdx.x; i < first + making[1].outputs(); i += blockDim.x) {
    Making& of = making[i < first ? 0 : 1];
    double greatest = weighExactly(of.axis, of.curve, i < first ? i : i - first);
    atomicMax(&of.greatest, (unsigned long long)__double_as_longlong(greatest));
  }
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < 2; i += blockDim.x)
    making[i].axis.shift = bitsFor(__longlong_as_double((long long)making[i].greatest));
  __syncthreads();
  first = making[0].made();
#pragma unroll 1
  for (int i = threadIdx.x; i < first + making[1].made(); i += blockDim.x) {
    Making& of = making[i < first ? 0 : 1];
    atomicMax(&of.axis.most, weigh(of.axis, of.curve, i < first ? i : i - first));
  }
  __syncthreads();
  return {making[0].axis, making[1].axis};
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

  /** Two pixels with their weights: `order` says where in low and high, bytes 0 to 7, their reds lie; greens, blues follow. */
  __device__ void add(int pair, unsigned low, unsigned high, unsigned order) {
    red = paired(pair, __byte_perm(low, high, order), red);
    green = paired(pair, __byte_perm(low, high, order + 0x11), green);
    blue = paired(pair, __byte_perm(low, high, order + 0x22), blue);
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

/** So many threads share the lines of a column. */
constexpr int SHARING = 8;

/** Pixels that lie side by side, brought together from whole words: faster than byte by byte. */
template <int PAIRS>
struct Neighbours {
  static constexpr int WORDS = (6 * PAIRS + 3) / 4;
  unsigned bytes[WORDS];

  /** Those at p, of which `count` are needed: nothing is read behind the word in which they end. */
  __device__ Neighbours(const u8* p, int count) {
    int skip = (int)((unsigned long long)p & 3), last = (skip + 3 * count - 1) / 4;
    const unsigned* words = (const unsigned*)(p - skip);
    unsigned word = words[0];
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
      unsigned next = words[min(k + 1, last)];
      bytes[k] = __funnelshift_r(word, next, 8 * skip);
      word = next;
    }
  }

  __device__ void addTo(Sum& sum, const int* pairs) const {
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
      int at = 6 * k / 4;
      sum.add(pairs[k], bytes[at], bytes[at + 1], k % 2 ? 0x52 : 0x30);
    }
  }
};

/**
 * Along x: all lines of `from` become as wide as the window, as words at `to`. A thread stays in its column, with its
 * weights at hand; taps that are missing have none. PAIRS of taps are enough for every output.
 */
template <int PAIRS>
__device__ void across(Axis x, Picture from, unsigned* to) {
  for (int i = threadIdx.x; i < x.count * SHARING; i += blockDim.x) {
    int column = i % x.count, y = i / x.count;
    Span span = x.spans[column];
    int pairs[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) pairs[k] = 2 * k < span.taps ? x.pairs[k * x.count + column] : 0;
    const u8* p = from.address(span.first, y);
    unsigned* out = to + i;
    int shift = x.shift, step = SHARING * x.count;
#pragma unroll 1
    for (; y < from.height; y += SHARING, p += SHARING * from.down, out += step) {
      Sum sum(shift);
      Neighbours<PAIRS>(p, span.taps).addTo(sum, pairs);
      *out = word(sum.pixel());
    }
  }
}

/** The same for any number of taps, of any picture. */
__device__ __noinline__ inline void acrossByMany(Axis x, Picture from, unsigned* to) {
  for (Walk at(x.count, from.height); at.inside(); at.next()) {
    Span span = x.spans[at.x];
    const u8* p = from.address(span.first, at.y);
    Sum sum(x.shift);
#pragma unroll 1
    for (int k = 0; k < span.taps; k++, p += from.right) {
      int pair = x.pairs[k / 2 * x.count + at.x];
      sum.add(k % 2 ? pair >> 16 : (short)pair, p);
    }
    to[at.y * x.count + at.x] = word(sum.pixel());
  }
}

__device__ inline void makeLines(Axis x, Picture from, unsigned* to) {
  if (!x.resized()) {
    Picture window = from.part(x.from, 0, x.count, from.height);
    for (Walk at(x.count, from.height); at.inside(); at.next())
      to[at.y * x.count + at.x] = word(window.pixel(at.x, at.y));
    return;
  }
  switch (from.right == 3 ? (x.most + 1) / 2 : 0) {
    case 1: return across<1>(x, from, to); // enlarged
    case 2: return across<2>(x, from, to);
    case 3: return across<3>(x, from, to);
    case 4: return across<4>(x, from, to);
    default: return acrossByMany(x, from, to);
  }
}

/** Along y: all columns of `lines` become as high as the window. Taps are taken two by two: a line more is read. */
template <class Column>
__device__ void down(Axis y, const unsigned* lines, int width, int line, Column column) {
#pragma unroll 1
  for (; line < y.count; line += SHARING) {
    Span span = y.spans[line];
    const unsigned* p = lines + span.first * width;
    const int* pair = y.pairs + line;
    Sum sum(y.shift);
#pragma unroll 1
    for (int k = 0; k < span.taps; k += 2, p += 2 * width, pair += y.count) sum.add(*pair, p[0], p[width], 0x40);
    column.put(sum.pixel());
  }
}

/** The window's pixels, line by line. */
template <class Column>
__device__ void copy(const unsigned* lines, int width, int height, int line, Column column) {
#pragma unroll 1
  for (; line < height; line += SHARING) column.put(pixel(lines[line * width]));
}

/** Nearest neighbours, along both axes at once. */
template <class Sink>
__device__ void pick(Place place, Sink sink) {
  Nearest x(place.x), y(place.y);
  for (Walk at(place.x.count, place.y.count); at.inside(); at.next()) {
    int toX = place.flipX ? place.x.count - 1 - at.x : at.x, toY = place.flipY ? place.y.count - 1 - at.y : at.y;
    sink.put(toX, toY, place.box.pixel(x(at.x), y(at.y)));
  }
}

/** Gives the window's pixels to `sink`; for a place that resizes. */
template <class Sink>
__device__ void resize(Place place, PlaceMemory memory, Sink sink) {
  if (place.x.filter == NEAREST) {
    sink.typed([&](auto to) { pick(place, to); });
    __syncthreads();
    return;
  }
  auto [x, y] = makeTables(place.x, place.y, memory.tables);
  // Of the box, only lines that the window needs.
  int top = y.from, height = y.count;
  if (y.resized()) {
    Span last = y.spans[y.count - 1];
    top = y.spans[0].first;
    height = last.first + last.taps - top;
  }
  makeLines(x, place.box.part(0, top, place.box.width, height), memory.lines);
  __syncthreads();
  sink.typed([&, x = x, y = y](auto to) {
    int width = x.count;
    for (int i = threadIdx.x; i < width * SHARING; i += blockDim.x) {
      int fromX = i % width, line = i / width;
      int toX = place.flipX ? width - 1 - fromX : fromX, toY = place.flipY ? y.count - 1 - line : line;
      auto column = to.column(toX, toY, place.flipY ? -SHARING : SHARING);
      // As if all lines were there: none above is read.
      if (y.resized()) down(y, memory.lines - top * width + fromX, width, line, column);
      else copy(memory.lines + fromX, width, height, line, column);
    }
  });
  __syncthreads();
}
