// The end of a row: every byte becomes an element of the field's dtype, in the field's layout, and boxes are erased.
// Elements are only moved, so their size is all that their type need say.
#pragma once
#include "number.cuh"
#include "picture.cuh"
#include "random.cuh"
#include "row.cuh"

/** What each byte of each channel becomes: 3 × 256 elements of up to 8 bytes. */
__shared__ unsigned long long lookupMemory[3 * 256];

template <class Element>
__device__ Element* lookupTable() {
  return (Element*)lookupMemory;
}

/** Brings the lookup into shared memory. */
template <class Element>
__device__ void loadLookup(const void* lookup) {
  for (int i = threadIdx.x; i < 3 * 256; i += blockDim.x) lookupTable<Element>()[i] = ((const Element*)lookup)[i];
  __syncthreads();
}

/** A finished row, and how its elements lie. It takes pixels, as their elements. */
template <class Element>
struct FinishedRow {
  Element* at;
  int width, height;
  int plane, pixel; // elements from channel to channel and from pixel to pixel

  __device__ FinishedRow(void* out, int row, bool hwc, int width, int height)
      : at((Element*)out + (unsigned long long)row * 3 * width * height), width(width), height(height),
        plane(hwc ? 1 : width * height), pixel(hwc ? 3 : 1) {}

  __device__ Element* element(int x, int y, int channel) const { return at + channel * plane + (y * width + x) * pixel; }

  __device__ void put(int x, int y, Pixel p) const {
    const Element* lookup = lookupTable<Element>();
    Element* to = element(x, y, 0);
    to[0] = lookup[p.red];
    to[plane] = lookup[256 + p.green];
    to[2 * plane] = lookup[512 + p.blue];
  }

  __device__ void clear() const {
    for (int i = threadIdx.x; i < 3 * width * height; i += blockDim.x) at[i] = 0;
    __syncthreads();
  }
};

template <class Element>
__device__ __noinline__ void finish(Picture picture, FinishedRow<Element> row) {
  for (Walk at(picture.width, picture.height); at.inside(); at.next()) row.put(at.x, at.y, picture.pixel(at.x, at.y));
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

/** Fills a box of the finished row, in the row's own units. */
template <class Element>
__device__ __noinline__ void erase(Op op, FinishedRow<Element> row, int dtype) {
  int x = op.whole(1), y = op.whole(2), width = op.whole(3), height = op.whole(4);
  if (width > 0 && height > 0) {
    if (op.whole(5)) {
      eraseWithNoise(op, row, dtype);
    } else {
      Element colour[3];
      for (int c = 0; c < 3; c++) colour[c] = (Element)encoded(op.precise(7 + 2 * c), dtype);
      for (Walk at(width, height); at.inside(); at.next())
        for (int c = 0; c < 3; c++) *row.element(x + at.x, y + at.y, c) = colour[c];
    }
  }
  __syncthreads();
}
