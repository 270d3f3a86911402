// A parameter row, as ../../device/parameter-row.ts writes it: a header, then ops. The words are those of facts.cuh.
#pragma once
#include "facts.cuh"

/** One op: word 0 is its code, its arguments follow. */
struct Op {
  const unsigned* words;

  __device__ int code() const { return (int)words[0]; }
  __device__ int whole(int i) const { return (int)words[i]; }
  __device__ float real(int i) const { return __uint_as_float(words[i]); }
  /** A float64 in words i and i + 1. */
  __device__ double precise(int i) const { return __hiloint2double((int)words[i + 1], (int)words[i]); }
};

struct Row {
  const unsigned* words;

  __device__ int operator[](int word) const { return (int)words[word]; }
  __device__ Op op(int i) const { return {words + HEADER_WORDS + i * OP_WORDS}; }
};
