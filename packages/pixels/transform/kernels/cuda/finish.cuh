// The end of a row: every byte becomes an element of the field's dtype, in the field's layout, and boxes are erased.
// Elements are only moved, so their size is all that their type need say.
#pragma once
#include "number.cuh"
#include "picture.cuh"
#include "random.cuh"
#include "row.cuh"

/** What each byte of each channel becomes: 3 × 256 elements of up to 8 bytes. */
__shared__ unsigned long long lookupMemory[3 * 256];

/** Brings the lookup, of elements of so many bytes, into shared memory. */
__device__ inline void loadLookup(const void* lookup, int bytes) {
  for (int i = threadIdx.x; i < 3 * 256 / 4 * bytes; i += blockDim.x)
    ((unsigned*)lookupMemory)[i] = ((const unsigned*)lookup)[i];
  __syncthreads();
}

/** A finished row whose elements are of this size, and how they lie. It takes pixels, as their elements. */
template <class Element>
struct FinishedRow {
  Element* at;
  int width, height;
  int plane, pixel; // elements from channel to channel and from pixel to pixel

  __device__ Element* element(int x, int y, int channel) const { return at + channel * plane + (y * width + x) * pixel; }

  __device__ void put(int x, int y, Pixel p) const { column(x, y, 0).put(p); }

  /** Takes pixels from (x, y) on, each `lines` below the last. */
  struct Column {
    Element* at;
    int plane, step;

    __device__ void put(Pixel p) {
      const Element* lookup = (const Element*)lookupMemory;
      Element red = lookup[p.red], green = lookup[256 + p.green], blue = lookup[512 + p.blue];
      at[0] = red;
      at[plane] = green;
      at[2 * plane] = blue;
      at += step;
    }
  };
  __device__ Column column(int x, int y, int lines) const {
    return {element(x, y, 0), plane, lines * width * pixel};
  }

  __device__ void clear() const {
    for (int i = threadIdx.x; i < 3 * width * height; i += blockDim.x) at[i] = 0;
    __syncthreads();
  }
};

/** A finished row of any dtype. */
struct Finished {
  u8* at;
  int dtype;
  bool hwc;
  int width, height;

  /** Row i of rows that begin with this one. */
  __device__ Finished row(int i) const {
    Finished other = *this;
    other.at += (unsigned long long)i * 3 * width * height * bytesOf(dtype);
    return other;
  }

  /** Does something with it as a row of elements of its size. */
  template <class Do>
  __device__ void typed(Do todo) const {
    switch (bytesOf(dtype)) {
      case 1: return todo(as<unsigned char>());
      case 2: return todo(as<unsigned short>());
      case 4: return todo(as<unsigned>());
      default: return todo(as<unsigned long long>());
    }
  }

  template <class Element>
  __device__ FinishedRow<Element> as() const {
    return {(Element*)at, width, height, hwc ? 1 : width * height, hwc ? 3 : 1};
  }
};

__device__ __noinline__ inline void clear(Finished row) {
  row.typed([](auto to) { to.clear(); });
}

__device__ __noinline__ inline void finish(Picture picture, Finished row) {
  row.typed([&](auto to) {
    for (Walk at(picture.width, picture.height); at.inside(); at.next()) to.put(at.x, at.y, picture.pixel(at.x, at.y));
  });
  __syncthreads();
}

/** Noise: every line of every channel is a stream of its own, so that threads can share them out. */
template <class Element>
__device__ void eraseWithNoise(Op op, FinishedRow<Element> row, int dtype) {
  int x = op.whole(1), y = op.whole(2), width = op.whole(3), height = op.whole(4);
  for (Walk at(height, 3); at.inside(); at.next()) {
    int line = at.x, channel = at.y;
    Random random(op.words[6], line * 4 + channel);
    for (int i = 0; i < width; i += 2) {
      double first, second;
      random.normals(first, second);
      *row.element(x + i, y + line, channel) = (Element)encoded(first, dtype);
      if (i + 1 < width) *row.element(x + i + 1, y + line, channel) = (Element)encoded(second, dtype);
    }
  }
}

template <class Element>
__device__ void eraseWithColour(Op op, FinishedRow<Element> row, int dtype) {
  int x = op.whole(1), y = op.whole(2);
  Element colour[3];
  for (int c = 0; c < 3; c++) colour[c] = (Element)encoded(op.precise(7 + 2 * c), dtype);
  for (Walk at(op.whole(3), op.whole(4)); at.inside(); at.next())
    for (int c = 0; c < 3; c++) *row.element(x + at.x, y + at.y, c) = colour[c];
}

/** Fills a box of the finished row, in the row's own units. */
__device__ __noinline__ inline void erase(Op op, Finished row) {
  if (op.whole(3) > 0 && op.whole(4) > 0) {
    row.typed([&](auto to) {
      if (op.whole(5)) eraseWithNoise(op, to, row.dtype);
      else eraseWithColour(op, to, row.dtype);
    });
  }
  __syncthreads();
}
