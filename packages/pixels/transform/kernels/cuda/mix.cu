// The kernel `mix`: mixup and cutmix of finished rows, each with the row before it (the first with the last), and mosaic,
// with the three rows before it, out of place. How is said in the parameter rows, equally in all; the arithmetic is that
// of packages/pixels/test/transform/twins/mix.ts and ../../mix/mosaic.ts.
#include "number.cuh"
#include "random.cuh"
#include "row.cuh"

/** A mix, as the header has it: its kind, then the shares of mixup, or the share and the box of cutmix. */
struct Mix {
  int kind;
  float share, rest; // of the row itself, and of its partner
  int x, y, width, height;
};

__device__ inline Mix mixOf(const unsigned* row, int which) {
  const unsigned* w = row + Word::MIX + which * MIX_WORDS;
  return {(int)w[0], __uint_as_float(w[1]), __uint_as_float(w[2]), (int)w[2], (int)w[3], (int)w[4], (int)w[5]};
}

/** How elements of a dtype are read as floats, and floats written as elements. */
struct Bytes {
  typedef unsigned char Element;
  __device__ static float number(Element e) { return (float)e; }
  __device__ static Element element(float x) { return (Element)(int)rintf(x); }
};
struct Halves {
  typedef unsigned short Element;
  __device__ static float number(Element e) { return fromF16(e); }
  __device__ static Element element(float x) { return toF16(x); }
};
struct BrainHalves {
  typedef unsigned short Element;
  __device__ static float number(Element e) { return fromBf16(e); }
  __device__ static Element element(float x) { return toBf16(x); }
};
struct Floats {
  typedef float Element;
  __device__ static float number(Element e) { return e; }
  __device__ static Element element(float x) { return x; }
};

/** Finished rows, and how their elements lie. */
struct Rows {
  int count, width, height;
  bool hwc;

  __device__ unsigned elements() const { return 3u * width * height; }
  __device__ unsigned long long start(int row) const { return (unsigned long long)row * elements(); }
  __device__ int partner(int row) const { return row == 0 ? count - 1 : row - 1; }
};

/** Every element is blended. */
template <class Kind>
__device__ void mixup(Rows rows, Mix mix, const void* from, void* to) {
  typedef typename Kind::Element Element;
  for (int row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const Element* own = (const Element*)from + rows.start(row);
    const Element* other = (const Element*)from + rows.start(rows.partner(row));
    Element* out = (Element*)to + rows.start(row);
    for (unsigned i = threadIdx.x; i < rows.elements(); i += blockDim.x)
      out[i] = Kind::element(Kind::number(other[i]) * mix.rest + Kind::number(own[i]) * mix.share);
  }
}

/** The box comes from the partner; a box of nothing makes this a copy. */
template <class Element>
__device__ void cutmix(Rows rows, Mix mix, const void* from, void* to) {
  // A line holds all channels of its pixels, or it is one of a plane, and there are three times as many.
  unsigned channels = rows.hwc ? 3 : 1;
  unsigned width = rows.width * channels, left = mix.x * channels, right = left + mix.width * channels;
  unsigned top = mix.y, bottom = top + mix.height;
  for (int row = blockIdx.x; row < rows.count; row += gridDim.x) {
    const Element* own = (const Element*)from + rows.start(row);
    const Element* other = (const Element*)from + rows.start(rows.partner(row));
    Element* out = (Element*)to + rows.start(row);
    for (unsigned i = threadIdx.x; i < rows.elements(); i += blockDim.x) {
      unsigned line = i / width;
      unsigned x = i - line * width, y = line % rows.height;
      bool inside = x >= left && x < right && y >= top && y < bottom;
      out[i] = inside ? other[i] : own[i];
    }
  }
}

/** Where the four pictures of a row meet. */
struct Mosaic {
  unsigned seed, threshold, acrossX, acrossY;

  __device__ unsigned bits(int row, int which) const { return mix32(seed + (unsigned)(row * 3 + which) * WEYL); }

  /** Whether the row is made of four. */
  __device__ bool has(int row) const { return threshold == 0xffffffffu || bits(row, 0) < threshold; }

  __device__ static unsigned within(unsigned firstAndLast, unsigned bits) {
    unsigned first = firstAndLast & 0xffff, last = firstAndLast >> 16;
    return first + (unsigned)((unsigned long long)bits * (last - first + 1) >> 32);
  }
  __device__ unsigned x(int row) const { return within(acrossX, bits(row, 1)); }
  __device__ unsigned y(int row) const { return within(acrossY, bits(row, 2)); }
};

/** Each part of a row comes from another row, whose corner lies at the point in which they meet. */
template <class Element>
__device__ void mosaic(Rows rows, Mosaic how, const void* from, void* to) {
  unsigned channels = rows.hwc ? 3 : 1;
  unsigned width = rows.width * channels, height = rows.height;
  for (int row = blockIdx.x; row < rows.count; row += gridDim.x) {
    bool four = how.has(row);
    unsigned middle = four ? how.x(row) * channels : width, half = four ? how.y(row) : height;
    Element* out = (Element*)to + rows.start(row);
    for (unsigned i = threadIdx.x; i < rows.elements(); i += blockDim.x) {
      unsigned line = i / width, x = i - line * width, y = line % height, plane = line / height;
      unsigned right = x >= middle, below = y >= half;
      int back = (int)(right + 2 * below);
      unsigned fromX = right ? x - middle : x + width - middle, fromY = below ? y - half : y + height - half;
      int other = ((row - back) % rows.count + rows.count) % rows.count;
      out[i] = ((const Element*)from)[rows.start(other) + (plane * height + fromY) * width + fromX];
    }
  }
}

/**
 * Any number of blocks, of any number of threads: a block mixes one row at a time. Reads mix `which` of row 0; where
 * there is none, rows are copied. Mixup is for u8, f16, bf16 and f32.
 */
extern "C" __global__ void mix(const unsigned* rows, int which, int count, const void* from, void* to, int dtype,
                               int hwc, int width, int height) {
  Mix how = mixOf(rows, which);
  Rows all = {count, width, height, hwc != 0};
  if (how.kind == MixKind::MIXUP) {
    switch (dtype) {
      case Dtype::U8: return mixup<Bytes>(all, how, from, to);
      case Dtype::F16: return mixup<Halves>(all, how, from, to);
      case Dtype::BF16: return mixup<BrainHalves>(all, how, from, to);
      case Dtype::F32: return mixup<Floats>(all, how, from, to);
    }
  }
  if (how.kind == MixKind::MOSAIC) {
    const unsigned* w = rows + Word::MIX + which * MIX_WORDS;
    Mosaic four = {w[1], w[2], w[3], w[4]};
    switch (bytesOf(dtype)) {
      case 1: return mosaic<unsigned char>(all, four, from, to);
      case 2: return mosaic<unsigned short>(all, four, from, to);
      case 4: return mosaic<unsigned>(all, four, from, to);
      default: return mosaic<unsigned long long>(all, four, from, to);
    }
  }
  if (how.kind != MixKind::CUTMIX) how.x = how.y = how.width = how.height = 0;
  switch (bytesOf(dtype)) {
    case 1: return cutmix<unsigned char>(all, how, from, to);
    case 2: return cutmix<unsigned short>(all, how, from, to);
    case 4: return cutmix<unsigned>(all, how, from, to);
    default: return cutmix<unsigned long long>(all, how, from, to);
  }
}
