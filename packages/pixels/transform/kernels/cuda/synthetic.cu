// The kernel `synthetic`: rows of a synthetic source made on the device, the same bytes as source/made/synthetic.ts: a row is
// a stretch of a pool of random elements, its first element the row's own number.
#include "number.cuh"

/** A block copies this many elements at a time, so that long rows are shared out among blocks, too. */
constexpr unsigned PART = 16384;

/** The bits of a whole number as an element; integers wrap around. */
__device__ inline unsigned long long numbered(long long value, int dtype) {
  switch (dtype) {
    case Dtype::F16: return toF16((float)value);
    case Dtype::BF16: return toBf16((float)value);
    case Dtype::F32: return __float_as_uint((float)value);
    case Dtype::F64: return __double_as_longlong((double)value);
    default: return value;
  }
}

template <class Element>
__device__ void makeRows(const Element* pool, const unsigned* starts, const long long* firsts, int count,
                         unsigned long long rowElements, int dtype, Element* out) {
  unsigned long long parts = (rowElements + PART - 1) / PART, all = parts * count;
  for (unsigned long long part = blockIdx.x; part < all; part += gridDim.x) {
    unsigned long long row = part / parts, begin = part % parts * PART;
    unsigned elements = (unsigned)min((unsigned long long)PART, rowElements - begin);
    const Element* from = pool + starts[row] + begin;
    Element* to = out + row * rowElements + begin;
    for (unsigned i = threadIdx.x; i < elements; i += blockDim.x)
      to[i] = begin + i == 0 ? (Element)numbered(firsts[row], dtype) : from[i];
  }
}

/**
 * Any number of blocks, of any number of threads.
 *
 *   pool      random elements
 *   starts    for each row, the element of the pool with which it begins
 *   firsts    for each row, the number that its first element is
 */
extern "C" __global__ void synthetic(const unsigned char* pool, const unsigned* starts, const long long* firsts,
                                     int count, unsigned long long rowElements, int dtype, void* out) {
  switch (bytesOf(dtype)) {
    case 1: return makeRows((const unsigned char*)pool, starts, firsts, count, rowElements, dtype, (unsigned char*)out);
    case 2: return makeRows((const unsigned short*)pool, starts, firsts, count, rowElements, dtype, (unsigned short*)out);
    case 4: return makeRows((const unsigned*)pool, starts, firsts, count, rowElements, dtype, (unsigned*)out);
    default:
      return makeRows((const unsigned long long*)pool, starts, firsts, count, rowElements, dtype,
                      (unsigned long long*)out);
  }
}
