// Carries out kernel launches on the CPU. As a program: launches in the form of bench/gpu/launch.mjs come in, results go
// out, and all memory is taken piece by piece, so that a sanitizer sees where each ends. As a library: `launch`.
#include "cuda-host.h"

typedef const unsigned* Words;
typedef unsigned char* Bytes;
typedef unsigned long long Long;

extern "C" {
void picture(Words, int, int, const Long*, Bytes, Long, Long, void*, const void*, int, int, int, int);
void mix(Words, int, int, const void*, void*, int, int, int, int);
void synthetic(const unsigned char*, Words, const long long*, int, Long, int, void*);
void philox(Words, int, unsigned*);
void draw(Long, Long, const long long*, int, int, float*);
}

enum Kind { NUMBER, INPUT, OUTPUT, ROOM, LIST };

static bool read(void* to, size_t bytes) { return bytes == 0 || fread(to, bytes, 1, stdin) == 1; }

struct Memory {
  std::vector<std::unique_ptr<char[]>> pieces;

  char* take(size_t bytes) {
    pieces.emplace_back(new char[bytes]);
    memset(pieces.back().get(), 0xee, bytes);
    return pieces.back().get();
  }

  /** Bytes of the input, padded there to a multiple of 8. Here they end with a word: kernels read pictures so. */
  char* load(size_t bytes) {
    char* piece = take((bytes + 3) / 4 * 4);
    char padding[8];
    if (!read(piece, bytes) || !read(padding, -bytes & 7)) exit(2);
    return piece;
  }
};

struct Head {
  uint32_t kind, zero;
  uint64_t value;
};

static void call(unsigned kernel, const Long* a) {
  auto at = [&](int i) { return (void*)a[i]; };
  switch (kernel) {
    case 0:
      return picture((Words)at(0), a[1], a[2], (const Long*)at(3), (Bytes)at(4), a[5], a[6], at(7), at(8), a[9], a[10],
                     a[11], a[12]);
    case 1: return mix((Words)at(0), a[1], a[2], at(3), at(4), a[5], a[6], a[7], a[8]);
    case 2:
      return synthetic((Bytes)at(0), (Words)at(1), (const long long*)at(2), a[3], a[4], a[5], at(6));
    case 3: return philox((Words)at(0), a[1], (unsigned*)at(2));
    case 4: return draw(a[0], a[1], (const long long*)at(2), a[3], a[4], (float*)at(5));
  }
}

/** Runs a kernel, by its number, to its end. One at a time: shared memory is the process's. */
extern "C" void launch(unsigned kernel, unsigned blocks, unsigned threads, const Long* arguments) {
  gridDim = {blocks, 1, 1};
  blockDim = {threads, 1, 1};
  if (threads > 1) pthread_barrier_init(&block_barrier, nullptr, threads);
  auto thread = [&](unsigned number) {
    threadIdx = {number, 0, 0};
    for (unsigned block = 0; block < blocks; block++) {
      blockIdx = {block, 0, 0};
      call(kernel, arguments);
      __syncthreads(); // shared memory is the next block's
    }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; t++) others.emplace_back(thread, t);
  thread(0);
  for (auto& other : others) other.join();
  if (threads > 1) pthread_barrier_destroy(&block_barrier);
}

int main() {
  uint32_t wanted[4]; // kernel, blocks, threads, number of arguments
  while (fread(wanted, sizeof wanted, 1, stdin) == 1) {
    Memory memory;
    std::vector<Long> arguments;
    char* output = nullptr;
    size_t outputBytes = 0;
    for (unsigned i = 0; i < wanted[3]; i++) {
      Head head;
      if (!read(&head, sizeof head)) return 2;
      switch (head.kind) {
        case NUMBER: arguments.push_back(head.value); break;
        case INPUT: arguments.push_back((Long)memory.load(head.value)); break;
        case ROOM: arguments.push_back((Long)memory.take(head.value * wanted[1])); break;
        case OUTPUT:
          outputBytes = head.value;
          output = memory.take(outputBytes);
          arguments.push_back((Long)output);
          break;
        case LIST: {
          Long* items = (Long*)memory.take(head.value * sizeof(Long));
          for (uint64_t item = 0; item < head.value; item++) {
            Head of;
            if (!read(&of, sizeof of)) return 2;
            items[item] = of.value == 0 ? 0 : (Long)memory.load(of.value);
          }
          arguments.push_back((Long)items);
          break;
        }
        default: return 2;
      }
    }
    launch(wanted[0], wanted[1], wanted[2], arguments.data());
    if (outputBytes > 0 && fwrite(output, outputBytes, 1, stdout) != 1) return 2;
  }
  return 0;
}
