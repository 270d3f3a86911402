// Pictures drawn on the GPU: striped, in one of ten directions, behind a disc and under noise. The direction is the
// label. Nothing is read: a picture depends on the seed, the epoch and its position alone.
#include "millrace.cuh"

constexpr unsigned SIZE = 224;
constexpr unsigned PIXELS = SIZE * SIZE;
constexpr unsigned CLASSES = 10;
constexpr float PI = 3.14159265f;

/** What a picture shows. Each of its threads draws the same, from stream 0 of the row. */
struct Scene {
  unsigned label;
  /** Stripes: radians for each pixel to the right and down, and at the corner. */
  float right, down, phase;
  float contrast;
  /** The disc. */
  float x, y, radius;
  /** Colours of stripes and disc. */
  float tint[3], paint[3];

  __device__ explicit Scene(const millrace::Batch& batch) {
    millrace::Philox random(batch);
    label = random.integer(CLASSES);
    float angle = PI / CLASSES * (label + random.uniform(-0.2f, 0.2f));
    float pixels = random.uniform(12, 40); // from stripe to stripe
    right = 2 * PI / pixels * cosf(angle);
    down = 2 * PI / pixels * sinf(angle);
    phase = random.uniform(0, 2 * PI);
    contrast = random.uniform(0.3f, 1);
    x = random.uniform(0, SIZE);
    y = random.uniform(0, SIZE);
    radius = random.uniform(0.1f, 0.35f) * SIZE;
    for (int channel = 0; channel < 3; channel++) {
      tint[channel] = random.uniform(0.4f, 1);
      paint[channel] = random.uniform(-1, 1);
    }
  }

  __device__ float at(float across, float along, int channel) const {
    bool inside = (across - x) * (across - x) + (along - y) * (along - y) < radius * radius;
    if (inside) return paint[channel];
    return contrast * tint[channel] * sinf(across * right + along * down + phase);
  }
};

/** One thread for each pixel; values have a mean of about 0. */
extern "C" __global__ void draw(millrace::Batch batch, float* image, long long* label) {
  unsigned pixel = millrace::element();
  if (pixel >= PIXELS) return;
  Scene scene(batch);
  if (pixel == 0) label[millrace::row()] = scene.label;
  millrace::Philox noise(batch, 1 + pixel);
  float* first = image + (unsigned long long)millrace::row() * 3 * PIXELS;
  for (int channel = 0; channel < 3; channel++) {
    float value = scene.at(pixel % SIZE, pixel / SIZE, channel);
    first[channel * PIXELS + pixel] = value + 0.5f * noise.normal();
  }
}
