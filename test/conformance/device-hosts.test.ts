/**
 * The three ways in which a feed's images are made give the same bytes: the engine's own threads (decode: "cpu"), the
 * device stage in Node, and the device stage in Python. Neither stage needs a GPU here: their devices are memory, their
 * kernels are the real ones compiled for the CPU, their nvJPEG is the engine's own decoder, so that nothing may differ.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { TypedArray } from '../../packages/core/basics/dtype.js'
import type { FeedJson } from '../../packages/core/define/types.js'
import type { Batch, Ragged } from '../../packages/core/deliver/node/batch.js'
import type { DeviceArray, DeviceRagged } from '../../packages/core/deliver/node/device.js'
import { open } from '../../packages/core/deliver/node/open.js'
import { temporaryFolder } from '../support/folder.js'
import { compiledKernels } from '../support/gpu/compiled-kernels.js'
import { kernelLibrary, withoutCompiler } from '../support/gpu/cuda-host.js'
import { openSimulated } from '../support/gpu/device-loader.js'
import { SimulatedGpu } from '../support/gpu/simulated-gpu.js'
import { withoutPython } from '../support/python.js'
import { type Case, casesIn, writePictures } from './feeds.js'

const folder = temporaryFolder()
const cases = casesIn(folder)
beforeAll(() => writePictures(folder))

const library = withoutCompiler === undefined ? kernelLibrary() : undefined
const decoder = turboJpeg()
const withoutHost =
  withoutCompiler ?? withoutPython ?? (decoder ? undefined : 'there is no TurboJPEG that Python could load')
if (withoutCompiler) console.warn(`The kernels are their twins in TypeScript: ${withoutCompiler}`)
if (withoutHost) console.warn(`The Python host is not compared: ${withoutHost}`)

/** The library that decodes JPEG in the engine, as packages/core/system/codecs/turbojpeg.ts finds it. */
function turboJpeg(): string | undefined {
  if (process.env.MILLRACE_TURBOJPEG) return process.env.MILLRACE_TURBOJPEG
  const libraries = join(import.meta.dirname, '../../dist/core/system/libraries')
  const folders = ['', '-musl'].map(libc => `${process.platform}-${process.arch}${libc}`)
  return folders.map(name => join(libraries, name, 'libturbojpeg.so.0')).find(existsSync)
}

// ------------------------------------------------------------------ what is seen

interface Seen {
  ids: string[]
  epoch: number
  position: number
  positions: number[]
  valid: number[]
  /** Of each field, its rows: texts as they are, of all else a hash. */
  fields: Record<string, string[]>
}

interface Run {
  batches: Seen[]
  /** Ids of bad samples. */
  bad: string[]
}

/** A run on a device. */
interface DeviceRun extends Run {
  /** Hashes of the JPEGs that the device has decoded. */
  decoded: string[]
}

async function seen(batch: Batch, names: readonly string[]): Promise<Seen> {
  const { ids, epoch, position, count } = batch
  const fields: Seen['fields'] = {}
  for (const name of names) {
    const value = batch.get(name) as unknown as string[] | Ragged | DeviceRagged | TypedArray | DeviceArray
    if (Array.isArray(value)) fields[name] = value
    else if ('offsets' in value) {
      const bounds = Array.from(await onHost(value.offsets), Number)
      fields[name] = hashes(await onHost(value.values), bounds)
    } else {
      const whole = await onHost(value)
      const bounds = Array.from({ length: count + 1 }, (_, i) => (i * whole.length) / count)
      fields[name] = hashes(whole, bounds)
    }
  }
  const [positions, valid] = [batch.positions, batch.valid].map(list => Array.from(list, Number))
  return { ids, epoch, position, positions, valid, fields }
}

async function onHost(value: TypedArray | DeviceArray): Promise<TypedArray> {
  return 'copyToHost' in value ? value.copyToHost() : value
}

/** Hashes of the parts of an array, in its order in memory. */
function hashes(array: TypedArray, bounds: readonly number[]): string[] {
  return bounds.slice(1).map((end, i) => {
    const part = array.subarray(bounds[i], end)
    return hash(new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
  })
}

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

// ------------------------------------------------------------------ three ways

/** By the engine's own makers. */
function onCpu({ definition, channelsLast }: Case): Promise<Run> {
  const { image } = definition.fields
  const fields = { ...definition.fields, image: { ...image, layout: 'hwc' as const } }
  const json = channelsLast ? { ...definition, fields } : definition
  return runOf(open(json, { workers: 0, epochs: 1 }), json)
}

/** By the device stage of Node. */
async function inNode({ definition, share, channelsLast, scratch }: Case): Promise<DeviceRun> {
  const decoded = new Set<string>()
  const gpu = new SimulatedGpu(jpeg => {
    if (refused(jpeg)) return true
    decoded.add(hash(jpeg))
    return false
  })
  if (scratch > 0) gpu.scratchBytes = scratch
  if (library) for (const [name, kernel] of compiledKernels(library)) gpu.kernels.set(name, kernel)
  const options = { decode: 'gpu' as const, epochs: 1, cpuShare: share, channelsLast }
  return {
    ...(await runOf(openSimulated(definition, gpu, options), definition)),
    decoded: [...decoded].sort(),
  }
}

/** What nvJPEG won't decode here: what ends too early, and some at a whim. device_hosts.py has the same. */
function refused(jpeg: Uint8Array): boolean {
  const ends = jpeg.at(-2) === 0xff && jpeg.at(-1) === 0xd9
  return !ends || jpeg.length % 5 === 0
}

async function runOf(loader: ReturnType<typeof open>, { fields }: FeedJson): Promise<Run> {
  const batches: Seen[] = []
  for await (const batch of loader) batches.push(await seen(batch, Object.keys(fields)))
  const bad = loader.stats().bad.samples.map(({ id }: { id: string }) => id)
  await loader.close()
  return { batches, bad: bad.sort() }
}

/** By the device stage of Python: all cases in one process. */
function inPython(): DeviceRun[] {
  const program = join(import.meta.dirname, 'device_hosts.py')
  // As on a machine that has numpy alone: importing pytest fails.
  const code = `import runpy, sys
sys.modules["pytest"] = None
runpy.run_path(${JSON.stringify(program)}, run_name="__main__")`
  const { status, stdout, stderr } = spawnSync('python3', ['-c', code], {
    input: JSON.stringify({ feeds: cases, kernels: library, turbojpeg: decoder }),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      XDG_RUNTIME_DIR: temporaryFolder(),
    },
  })
  if (status !== 0) throw new Error(`device_hosts.py ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}

// ------------------------------------------------------------------ they agree

const expected = new Map<string, Run>()
/** JPEGs that Node's device has decoded. */
const decoded = new Map<string, string[]>()

beforeAll(async () => {
  for (const one of cases) expected.set(one.name, await onCpu(one))
})

test('the cases are what they are meant to be', () => {
  for (const { name, definition } of cases) {
    const { batches, bad } = expected.get(name)!
    expect(batches.length).toBeGreaterThan(3)
    const images = batches.flatMap(({ fields }) => fields.image)
    expect(new Set(images).size).toBeGreaterThan(images.length * 0.7)
    expect(bad).toHaveLength(definition.onError ? 3 : 0)
  }
})

describe("Node's stage makes what the CPU makes", () => {
  test.each(cases)('$name', async one => {
    const run = await inNode(one)
    decoded.set(one.name, run.decoded)
    expect(run).toMatchObject(expected.get(one.name)!)
    // Not the CPU, but for its share, and for what is progressive or of a rare sampling among the odd ones.
    const [least, most] = one.onDevice ?? (one.share > 0 ? [5, 15] : [15, 24])
    expect(run.decoded.length).toBeGreaterThanOrEqual(least)
    expect(run.decoded.length).toBeLessThanOrEqual(most)
  })
})

describe.skipIf(withoutHost)(
  "Python's stage makes what the CPU makes, from the JPEGs that Node's has",
  () => {
    let runs: DeviceRun[] = []
    beforeAll(() => {
      runs = inPython()
    })
    test.each(cases.map(({ name }, i) => [name, i] as const))('%s', (name, i) => {
      expect(runs[i]).toEqual({ ...expected.get(name), decoded: decoded.get(name) })
    })
  },
)
