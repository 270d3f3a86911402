/**
 * Fields that a lane makes on the device, out of nothing but epoch, positions and rows: a kernel of the user's, or
 * copies from the pool of a synthetic source. What is launched is that of python/millrace/_gpu/generate.py.
 */
import { DTYPES, elements } from '../../core/basics/dtype.js'
import { EngineError } from '../../core/basics/errors.js'
import { Random } from '../../core/basics/random.js'
import {
  type Generator,
  type KernelGenerator,
  poolOf,
  type SyntheticGenerator,
} from '../../core/engine/plan/generate.js'
import { placeOf } from '../../core/source/made/synthetic.js'
import { CudaError, DeviceMemory, type Gpu, type Lane, ourHeaders, ourSource } from '../driver/index.js'
import {
  BATCH_BYTES,
  BatchAt,
  COPY_BLOCKS,
  GENERATE_HEADER,
  GENERATE_ROWS,
  GENERATE_THREADS,
  KERNELS,
} from './facts.js'
import { dtypeCode, up } from './plan.js'

/** The batch to be made. Positions and rows are those of the slot: the first `count` count. */
export interface Made {
  epoch: number
  count: number
  positions: Float64Array
  rows: Float64Array
}

/** Makes the generated fields of batches, one after the other; `outputs` says where the rows of each field go. */
export interface GeneratorMaker {
  make(batch: Made, outputs: ReadonlyMap<string, bigint>): void
  free(): void
}

/** `rows`: of a batch at most. `blocks`: the stage's share of the GPU. */
export function generatorMaker(
  gpu: Gpu,
  lane: Lane,
  generator: Generator,
  rows: number,
  blocks: number,
): GeneratorMaker {
  return generator.kind === 'kernel'
    ? new KernelMaker(gpu, lane, generator, rows)
    : new SyntheticMaker(gpu, lane, generator, rows, blocks)
}

/** Numbers that go to the device before a launch: page-locked here, and of one batch at a time. */
class Numbers {
  readonly view: DataView
  readonly pointer: bigint
  private readonly host: { address: bigint; bytes: Uint8Array }

  constructor(
    private readonly gpu: Gpu,
    private readonly lane: Lane,
    bytes: number,
  ) {
    this.host = gpu.allocateHost(bytes)
    this.view = new DataView(this.host.bytes.buffer, this.host.bytes.byteOffset, bytes)
    this.pointer = gpu.allocate(bytes)
  }

  send(bytes: number): void {
    this.lane.upload(this.pointer, this.host.address, bytes)
  }

  free(): void {
    this.gpu.free(this.pointer)
    this.gpu.freeHost(this.host.address)
  }
}

class KernelMaker implements GeneratorMaker {
  private readonly kernel: string
  private readonly numbers: Numbers
  /** Receives fields that the feed leaves out. */
  private readonly spare: DeviceMemory
  private readonly rowBytes: number[]

  constructor(
    gpu: Gpu,
    private readonly lane: Lane,
    private readonly generator: KernelGenerator,
    rows: number,
  ) {
    const { file, source, headers, entry, fields } = generator
    this.rowBytes = fields.map(({ shape, dtype }) => elements(shape) * DTYPES[dtype].bytes)
    try {
      const text = {
        name: file,
        text: source,
        headers: { ...headers, [GENERATE_HEADER]: ourHeaders()[GENERATE_HEADER] },
      }
      this.kernel = gpu.compile(text, entry)
    } catch (error) {
      if (!(error instanceof CudaError) || error.code !== 'CUDA_ERROR_NOT_FOUND') throw error
      throw new EngineError(
        `${file} has no kernel "${entry}": declare it extern "C" __global__ void ${entry}(millrace::Batch batch, …)`,
      )
    }
    this.numbers = new Numbers(gpu, lane, rows * 16)
    this.spare = new DeviceMemory(gpu)
  }

  make({ epoch, count, positions, rows }: Made, outputs: ReadonlyMap<string, bigint>): void {
    const { view, pointer } = this.numbers
    for (let i = 0; i < count; i++) {
      view.setBigInt64(i * 8, BigInt(positions[i]), true)
      view.setBigInt64((count + i) * 8, BigInt(rows[i]), true)
    }
    this.numbers.send(count * 16)
    const places = this.places(count, outputs)
    const blocks = Math.ceil(this.generator.threads / GENERATE_THREADS)
    for (let first = 0; first < count; first += GENERATE_ROWS) {
      const some = Math.min(GENERATE_ROWS, count - first)
      const at = pointer + BigInt(first * 8)
      const batch = batchBytes(this.generator.seed, epoch, at, at + BigInt(count * 8), some)
      const fields = places.map((place, i) => place + BigInt(first * this.rowBytes[i]))
      this.lane.launch(this.kernel, [blocks, some], GENERATE_THREADS, [batch, ...fields])
    }
  }

  /** The address of each argument's rows. */
  private places(count: number, outputs: ReadonlyMap<string, bigint>): bigint[] {
    const { fields } = this.generator
    const sizes = fields.map(({ field }, i) => (field === null ? up(count * this.rowBytes[i]) : 0))
    const all = sizes.reduce((sum, bytes) => sum + bytes, 0)
    let spare = all === 0 ? 0n : this.spare.atLeast(all)
    return fields.map(({ field }, i) => {
      if (field !== null) return outputs.get(field)!
      const at = spare
      spare += BigInt(sizes[i])
      return at
    })
  }

  free(): void {
    this.numbers.free()
    this.spare.free()
  }
}

/** `millrace::Batch` of millrace.cuh, by value: seed, epoch, positions, rows, count. */
export function batchBytes(
  seed: number,
  epoch: number,
  positions: bigint,
  rows: bigint,
  count: number,
): Uint8Array {
  const view = new DataView(new ArrayBuffer(BATCH_BYTES))
  view.setBigUint64(BatchAt.Seed, BigInt(seed), true)
  view.setBigUint64(BatchAt.Epoch, BigInt(epoch), true)
  view.setBigUint64(BatchAt.Positions, positions, true)
  view.setBigUint64(BatchAt.Rows, rows, true)
  view.setInt32(BatchAt.Count, count, true)
  return new Uint8Array(view.buffer)
}

class SyntheticMaker implements GeneratorMaker {
  private readonly kernel: string
  private readonly numbers: Numbers
  private readonly pool: bigint
  private readonly random = new Random()

  constructor(
    private readonly gpu: Gpu,
    private readonly lane: Lane,
    private readonly generator: SyntheticGenerator,
    rows: number,
    private readonly blocks: number,
  ) {
    this.kernel = gpu.compile(ourSource('synthetic.cu'), 'synthetic')
    this.numbers = new Numbers(gpu, lane, rows * 12)
    const pool = poolOf(generator)
    const host = gpu.allocateHost(pool.length)
    host.bytes.set(pool)
    this.pool = gpu.allocate(pool.length)
    lane.upload(this.pool, host.address, pool.length)
    lane.finish()
    gpu.freeHost(host.address)
  }

  make({ count, rows }: Made, outputs: ReadonlyMap<string, bigint>): void {
    const { seed, dtype, fields } = this.generator
    const { view, pointer } = this.numbers
    // Of each row its first element, then where it begins in the pool.
    for (let i = 0; i < count; i++) {
      view.setBigInt64(i * 8, BigInt(dtype === 'bool' ? rows[i] % 2 : rows[i]), true)
      view.setUint32(count * 8 + i * 4, placeOf(this.random, seed, rows[i]), true)
    }
    this.numbers.send(count * 12)
    for (const { field } of fields) {
      this.lane.launch(this.kernel, COPY_BLOCKS * this.blocks, KERNELS.synthetic.threads, [
        this.pool,
        pointer + BigInt(count * 8),
        pointer,
        count,
        BigInt(this.generator.elements),
        dtypeCode(dtype === 'bool' ? 'u8' : dtype),
        outputs.get(field!)!,
      ])
    }
  }

  free(): void {
    this.numbers.free()
    this.gpu.free(this.pool)
  }
}
