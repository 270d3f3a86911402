// Pictures of RGB bytes as the kernel sees them, and how the threads of a block share out their pixels.
#pragma once

typedef unsigned char u8;

/** What a part of a picture is kept in on its way through an op: 33 KiB of shared memory. */
constexpr int ROOM = 8448;
__shared__ unsigned room[ROOM];

/** A byte of each channel. */
struct Pixel {
  u8 red, green, blue;
};

/**
 * A picture, or a view of one: the first pixel, and the bytes from a pixel to the one right of it and to the one below
 * it. Either may be negative, so that mirrored and turned pictures are views, too.
 */
struct Picture {
  const u8* at;
  int right, down;
  int width, height;

  __device__ const u8* address(int x, int y) const { return at + y * down + x * right; }

  __device__ Pixel pixel(int x, int y) const {
    const u8* p = address(x, y);
    return {p[0], p[1], p[2]};
  }

  /** The part of it that begins at (x, y). */
  __device__ Picture part(int x, int y, int partWidth, int partHeight) const {
    return {address(x, y), right, down, partWidth, partHeight};
  }

  __device__ Picture mirrored(bool horizontally, bool vertically) const {
    Picture view = *this;
    if (horizontally) view.at += (width - 1) * right, view.right = -right;
    if (vertically) view.at += (height - 1) * down, view.down = -down;
    return view;
  }
};

/** A picture without gaps. */
__device__ inline Picture packed(const u8* at, int width, int height) {
  return {at, 3, 3 * width, width, height};
}

/** A decoded picture of `width` × `height`, seen upright: `orientation` is EXIF's, 5 to 8 exchange the axes. */
__device__ inline Picture upright(const u8* at, int width, int height, int orientation) {
  bool fromRight = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  bool fromBelow = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture view = packed(at, width, height).mirrored(fromRight, fromBelow);
  if (orientation < 5) return view;
  return {view.at, view.down, view.right, height, width};
}

/**
 * A thread's way through width × height places: thread t begins at place t, and goes on by as many places as the block
 * has threads, so that neighbours in a warp are neighbours in the picture. Divides only at its beginning.
 */
struct Walk {
  int width, height, stepX, stepY, x, y;

  __device__ Walk(int width, int height)
      : width(width), height(height), stepX(blockDim.x % width), stepY(blockDim.x / width),
        x(threadIdx.x % width), y(threadIdx.x / width) {}

  __device__ bool inside() const { return y < height; }

  __device__ void next() {
    x += stepX;
    y += stepY;
    if (x >= width) x -= width, y++;
  }
};

/** Takes pixels as a picture without gaps. */
struct PixelSink {
  u8* at;
  int width;

  __device__ void put(int x, int y, Pixel pixel) const { column(x, y, 0).put(pixel); }

  /** Takes pixels from (x, y) on, each `lines` below the last. */
  struct Column {
    u8* at;
    int step;

    __device__ void put(Pixel pixel) {
      at[0] = pixel.red;
      at[1] = pixel.green;
      at[2] = pixel.blue;
      at += step;
    }
  };
  __device__ Column column(int x, int y, int lines) const { return {at + (y * width + x) * 3, lines * width * 3}; }

  /** Does something with it: it is what it is. */
  template <class Do>
  __device__ void typed(Do todo) const { todo(*this); }
};

/** Makes a picture at `to` whose pixel (x, y) is make(x, y), by all threads of the block. */
template <class Make>
__device__ Picture drawn(u8* to, int width, int height, Make make) {
  PixelSink sink = {to, width};
  for (Walk at(width, height); at.inside(); at.next()) sink.put(at.x, at.y, make(at.x, at.y));
  __syncthreads();
  return packed(to, width, height);
}

/** Clamped to a byte, rounded towards zero. */
__device__ inline u8 toByte(float x) {
  return (u8)(int)fminf(fmaxf(x, 0.0f), 255.0f);
}
