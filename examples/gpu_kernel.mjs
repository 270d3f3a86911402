// Runs a CUDA kernel of its own on batches that lie on the GPU: the mean of each image, without a copy to the host.
//
//   node examples/gpu_kernel.mjs [TAR…] [--steps 3] [--decode auto|cpu|gpu]
//
// What it uses:
//   open(feed, { device: 'cuda' })        batches on the GPU; batch.image is a DeviceArray: devicePointer, dtype, shape,
//                                         strides, byteLength, copyToHost()
//   cuda.compile(text, entry)             a kernel, compiled for this GPU with NVRTC and kept in the cache folder
//   kernel.launch({ grid, block }, args)  on CUDA's default stream; arrays are passed as their pointers
//   cuda.allocate(dtype, shape)           memory for results
//
// A batch's memory is used again after the next one is asked for; the GPU waits for what was launched on it before.
// Needs an NVIDIA GPU. Without one it says so and ends.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { cuda, feed, image, int, MissingError, open, shuffle, synthetic, tar } from 'millrace'

const BATCH = 64
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { steps: { type: 'string', default: '3' }, decode: { type: 'string', default: 'auto' } },
})

const photos = feed({
  source:
    positionals.length > 0
      ? tar(positionals.map(path => resolve(path)))
      : synthetic({ count: 4096, images: { width: 256, height: 256, classes: 10 } }),
  order: shuffle({ seed: 7 }),
  fields: { image: image('jpg').randomResizedCrop(224).flip().dtype('f32'), label: int('cls') },
  batch: BATCH,
})

/** One block sums one image: each thread its share, then all of them together. */
const MEANS = `
extern "C" __global__ void means(const float* images, float* result, int elements) {
  __shared__ float sums[256];
  const float* image = images + (long long)blockIdx.x * elements;
  float sum = 0;
  for (int i = threadIdx.x; i < elements; i += blockDim.x) sum += image[i];
  sums[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) result[blockIdx.x] = sums[0] / elements;
}`

async function main() {
  const means = cuda.compile(MEANS, 'means')
  const result = cuda.allocate('f32', [BATCH])
  const loader = open(photos, {
    device: 'cuda',
    decode: values.decode,
    steps: Number(values.steps),
    notice: console.log,
  })
  try {
    for await (const batch of loader) {
      const elements = batch.image.shape.slice(1).reduce((product, n) => product * n)
      means.launch({ grid: [batch.count], block: [256] }, [batch.image, result, elements])
      const found = (await result.copyToHost()).subarray(0, batch.count)
      const first = Array.from(found.subarray(0, 4), mean => mean.toFixed(4)).join(' ')
      console.log(`step ${batch.step}: ${batch.count} images, means ${first} …`)
    }
  } finally {
    await loader.close()
  }
}

main().catch(error => {
  if (!(error instanceof MissingError)) throw error
  console.log(`this example needs a GPU: ${error.message}`)
})
