// The op `place`: a box of the picture, resized, of which a window is made, mirrored. Along x first, with bytes in
// between, then along y, as packages/pixels/test/transform/twins/place.ts does it. What needs no filtering is a view and costs nothing.
//
//   lines of the box ──along x──► room: a word for each pixel ──along y──► lines of the window
//
// That is done strip by strip, as much as there is room for. In a word red is the lowest byte.
#pragma once
#include "picture.cuh"
#include "row.cuh"
#include "sum.cuh"
#include "tables.cuh"

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

/** A part of the window that is made at once: columns and lines of it, and the lines of the box that this takes. */
struct Strip {
  int left, width;
  int top, bottom;
  int firstLine, lines;

  /** Threads that share the lines of a column: with two columns for each thread, or so, few of them idle. */
  __device__ int sharing() const { return max(1, 2 * (int)blockDim.x / width); }
};

/**
 * Along x: the strip's lines of the box, as words. A thread stays in its column, with its weights at hand; taps that are
 * missing have none. PAIRS of taps are enough for every output.
 */
template <int PAIRS>
__device__ void across(Axis x, Picture box, Strip strip) {
  int sharing = strip.sharing();
  for (int i = threadIdx.x; i < strip.width * sharing; i += blockDim.x) {
    int column = strip.left + i % strip.width, line = i / strip.width;
    Span span = x.spans[column];
    int pairs[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) pairs[k] = 2 * k < span.taps ? x.pairs[k * x.count + column] : 0;
    const u8* p = box.address(span.first, strip.firstLine + line);
    unsigned* to = room + i;
#pragma unroll 1
    for (; line < strip.lines; line += sharing, p += sharing * box.down, to += sharing * strip.width) {
      Sum sum(x.shift);
      Neighbours<PAIRS>(p, span.taps).addTo(sum, pairs);
      *to = sum.word();
    }
  }
}

/** The same for any number of taps, of any picture. */
__device__ __noinline__ inline void acrossByMany(Axis x, Picture box, Strip strip) {
  for (Walk at(strip.width, strip.lines); at.inside(); at.next()) {
    int column = strip.left + at.x;
    Span span = x.spans[column];
    const u8* p = box.address(span.first, strip.firstLine + at.y);
    Sum sum(x.shift);
#pragma unroll 1
    for (int k = 0; k < span.taps; k++, p += box.right) {
      int pair = x.pairs[k / 2 * x.count + column];
      sum.add(k % 2 ? pair >> 16 : (short)pair, p);
    }
    room[at.y * strip.width + at.x] = sum.word();
  }
}

__device__ inline void makeLines(Axis x, Picture box, Strip strip) {
  switch (box.right == 3 ? (x.most + 1) / 2 : 0) {
    case 1: return across<1>(x, box, strip); // enlarged
    case 2: return across<2>(x, box, strip);
    case 3: return across<3>(x, box, strip);
    case 4: return across<4>(x, box, strip);
    default: return acrossByMany(x, box, strip);
  }
}

/** Along y: the strip's lines of the window. Taps are taken two by two: a line more is read. */
template <class Sink>
__device__ void down(const Place& place, Axis y, Strip strip, Sink sink) {
  int sharing = strip.sharing();
  for (int i = threadIdx.x; i < strip.width * sharing; i += blockDim.x) {
    int fromX = i % strip.width, x = strip.left + fromX, line = strip.top + i / strip.width;
    if (place.flipX) x = place.x.count - 1 - x;
    auto column = sink.column(x, place.flipY ? y.count - 1 - line : line, place.flipY ? -sharing : sharing);
#pragma unroll 1
    for (; line < strip.bottom; line += sharing) {
      Span span = y.spans[line];
      const unsigned* p = room + (span.first - strip.firstLine) * strip.width + fromX;
      Sum sum(y.shift);
#pragma unroll 1
      for (int k = 0, pair = line; k < span.taps; k += 2, pair += y.count, p += 2 * strip.width)
        sum.add(y.pairs[pair], p[0], p[strip.width], 0x40);
      column.put(sum.pixel());
    }
  }
}

/** Nearest neighbours, along both axes at once. */
template <class Sink>
__device__ void pick(const Place& place, Sink sink) {
  Nearest x(place.x), y(place.y);
  for (Walk at(place.x.count, place.y.count); at.inside(); at.next()) {
    int toX = place.flipX ? place.x.count - 1 - at.x : at.x, toY = place.flipY ? place.y.count - 1 - at.y : at.y;
    sink.put(toX, toY, place.box.pixel(x(at.x), y(at.y)));
  }
}

/** Gives the window's pixels to `sink`; for a place that resizes. */
template <class Sink>
__device__ void resize(Place place, u8* tables, Sink sink) {
  if (place.x.filter == Filter::NEAREST) {
    sink.typed([&](auto to) { pick(place, to); });
    __syncthreads();
    return;
  }
  auto [x, y] = makeTables(place.x, place.y, tables);
  // Strips are so wide that there is room for the lines of several outputs, or else of one, with a line to spare.
  int width = min(x.count, min(max(32, ROOM / (4 * y.most)), ROOM / (y.most + 2)));
  // From output to output, lines go on by input / output, and once by one more.
  int height = 1 + (int)((long long)(ROOM / width - y.most - 2) * y.output / y.input);
  for (int left = 0; left < x.count; left += width)
    for (int top = 0; top < y.count; top += height) {
      int bottom = min(top + height, y.count), first = y.spans[top].first;
      Span last = y.spans[bottom - 1];
      Strip strip = {left, min(width, x.count - left), top, bottom, first, last.first + last.taps - first};
      makeLines(x, place.box, strip);
      __syncthreads();
      sink.typed([&, y = y](auto to) { down(place, y, strip, to); });
      __syncthreads();
    }
}
