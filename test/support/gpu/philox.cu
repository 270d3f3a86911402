// Kernels of the tests' own, on the header for users' kernels: the bare generator, and numbers that are drawn with it.
#include "millrace.cuh"

/** Of each six words, counter and key, four words. */
extern "C" __global__ void philox(const unsigned* from, int count, unsigned* to) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const unsigned* w = from + i * 6;
    millrace::Four four = millrace::philox({w[0], w[1], w[2], w[3]}, w[4], w[5]);
    to[i * 4] = four.x;
    to[i * 4 + 1] = four.y;
    to[i * 4 + 2] = four.z;
    to[i * 4 + 3] = four.w;
  }
}

/** Of each position, `draws` uniform, whole (0…9) and normal numbers in turn. */
extern "C" __global__ void draw(unsigned long long seed, unsigned long long epoch, const long long* positions, int count,
                                int draws, float* to) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    millrace::Philox random(seed, epoch, positions[i], 0);
    for (int k = 0; k < draws; k++) {
      float* numbers = to + (i * draws + k) * 3;
      numbers[0] = random.uniform(-1, 3);
      numbers[1] = (float)random.integer(10);
      numbers[2] = random.normal();
    }
  }
}

/** Compiled only: the batch as a user's kernel meets it. */
static_assert(sizeof(millrace::Batch) == 40);
extern "C" __global__ void generate(millrace::Batch batch, float* noise, unsigned long long elements) {
  if (millrace::element() >= elements) return;
  millrace::Philox random(batch, millrace::element());
  noise[millrace::row() * elements + millrace::element()] = random.normal();
}
