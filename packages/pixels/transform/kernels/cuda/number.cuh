// Numbers as elements of any dtype. Conversions to f16 and bf16 are those of basics/dtype.ts: nearest even.
#pragma once
#include "facts.cuh"

__device__ inline int bytesOf(int dtype) {
  switch (dtype) {
    case Dtype::U8: case Dtype::I8: return 1;
    case Dtype::U16: case Dtype::I16: case Dtype::F16: case Dtype::BF16: return 2;
    case Dtype::I64: case Dtype::F64: return 8;
    default: return 4;
  }
}

/** A float as bfloat16 bits. */
__device__ inline unsigned short toBf16(float value) {
  unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (unsigned short)(bits >> 16 | 0x40); // NaN stays NaN
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ inline float fromBf16(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}

/** A float as IEEE half bits. */
__device__ inline unsigned short toF16(float value) {
  unsigned bits = __float_as_uint(value);
  unsigned sign = bits >> 16 & 0x8000;
  unsigned magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (unsigned short)(sign | 0x7e00);  // NaN
  if (magnitude >= 0x477ff000) return (unsigned short)(sign | 0x7c00); // rounds to infinity
  // Subnormal or zero: scaled so that one unit is the least half.
  if (magnitude < 0x38800000) return (unsigned short)(sign | (unsigned)rintf(fabsf(value) * 16777216.0f));
  unsigned rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return (unsigned short)(sign | (rounded - 0x38000000) >> 13);
}

__device__ inline float fromF16(unsigned short bits) {
  unsigned sign = (unsigned)(bits & 0x8000) << 16;
  unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) return __uint_as_float(__float_as_uint((float)fraction * (1.0f / 16777216)) | sign);
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000 | fraction << 13);
  return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/** Rounded towards zero, clamped to low…high. */
__device__ inline long long clamped(double value, double low, double high) {
  return (long long)fmin(fmax(value, low), high);
}

/** The bits of a number as an element, in the lowest bytes: floats to nearest even, integers clamped, towards zero. */
__device__ __noinline__ inline unsigned long long encoded(double value, int dtype) {
  switch (dtype) {
    case Dtype::U8: return clamped(value, 0, 255);
    case Dtype::I8: return clamped(value, -128, 127);
    case Dtype::U16: return clamped(value, 0, 65535);
    case Dtype::I16: return clamped(value, -32768, 32767);
    case Dtype::I32: return clamped(value, -2147483648.0, 2147483647.0);
    case Dtype::U32: return clamped(value, 0, 4294967295.0);
    case Dtype::I64: return (long long)value;
    case Dtype::F16: return toF16((float)value);
    case Dtype::BF16: return toBf16((float)value);
    case Dtype::F32: return __float_as_uint((float)value);
    default: return __double_as_longlong(value);
  }
}
