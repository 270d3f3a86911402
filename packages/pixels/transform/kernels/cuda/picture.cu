// The kernel `picture`: from decoded pictures to finished rows, each by the ops of its parameter row. A block makes one
// row at a time, all of its threads together; results equal those of packages/pixels/test/transform/twins/picture.ts bit for bit (compile with
// --fmad=false: every float operation is rounded by itself).
//
// A block's stretch of `scratch`:  [ picture A | picture B | tables of weights, or displacements ]
// Ops read the picture that the last one left, in A or B, and write to the other; the first reads the decoded picture.
#include "finish.cuh"
#include "operators.cuh"
#include "picture.cuh"
#include "place.cuh"
#include "row.cuh"

/** Memory of a block. */
struct Scratch {
  u8* pictures[2];
  u8* tables;
};

/** A place that resizes, into a picture. */
__device__ inline Picture resized(Place place, u8* tables, u8* to) {
  resize(place, tables, PixelSink{to, place.x.count});
  return packed(to, place.x.count, place.y.count);
}

/** Carries out one op, and leaves its result at `to`. */
__device__ __noinline__ Picture apply(Op op, Picture from, u8* tables, u8* to) {
  if (op.code() == OpCode::PLACE) return resized(Place(op, from), tables, to);
  return applyStep(op, from, tables, to);
}

__device__ inline void makeRow(Row row, const u8* decoded, Scratch scratch, Finished out) {
  bool nothing = row[Word::FORM] == Form::NOTHING || decoded == nullptr;
  if (nothing || row[Word::WIDTH] < out.width || row[Word::HEIGHT] < out.height) clear(out);
  if (nothing) return;

  Picture picture = upright(decoded, row[Word::STORED_WIDTH], row[Word::STORED_HEIGHT], row[Word::ORIENTATION]);
  bool finished = false;
  int ops = row[Word::OPS], i = 0, turn = 0;
  for (; i < ops && row.op(i).code() != OpCode::ERASE; i++) {
    Op op = row.op(i);
    if (op.code() == OpCode::PLACE) {
      Place place(op, picture);
      bool last = i + 1 == ops || row.op(i + 1).code() == OpCode::ERASE;
      if (!place.resizes()) {
        picture = place.view();
        continue;
      }
      if (last) {
        resize(place, scratch.tables, out); // straight into the finished row
        finished = true;
        continue;
      }
    }
    picture = apply(op, picture, scratch.tables, scratch.pictures[turn]);
    turn ^= 1;
  }
  if (!finished) finish(picture, out);
  for (; i < ops; i++) erase(row.op(i), out);
}

/**
 * Any number of blocks, of up to 1,024 threads.
 *
 *   rows          `count` parameter rows of `words` words
 *   pictures      the address of each row's decoded picture, RGB without gaps; its memory begins and ends at a multiple
 *                 of 4. 0: none, the row becomes zeros
 *   scratch       for each block 2 · pictureBytes + tableBytes: the maxima of the rows' headers, each rounded up to a
 *                 multiple of 256
 *   out           the finished rows: 3 × width × height elements each, chw or hwc
 *   lookup        the element of each byte of each channel, 3 × 256 (values.ts)
 */
extern "C" __global__ void __launch_bounds__(1024)
picture(const unsigned* rows, int words, int count, const unsigned long long* pictures, unsigned char* scratch,
        unsigned long long pictureBytes, unsigned long long tableBytes, void* out, const void* lookup, int dtype, int hwc,
        int width, int height) {
  u8* own = scratch + blockIdx.x * (2 * pictureBytes + tableBytes);
  Scratch memory = {{own, own + pictureBytes}, own + 2 * pictureBytes};
  Finished finished = {(u8*)out, dtype, hwc != 0, width, height};
  loadLookup(lookup, bytesOf(dtype));
  for (int i = blockIdx.x; i < count; i += gridDim.x) {
    Row row = {rows + (unsigned long long)i * words};
    makeRow(row, (const u8*)pictures[i], memory, finished.row(i));
  }
}
