/**
 * Damages golden bytes in many ways, and checks that a parser survives all of them: nothing but a SourceError or DecodeError comes out,
 * and no buffer is asked for that is larger than a stated bound.
 *
 *   test('any damage is an error', () => survives(golden, bytes => parse(bytes), { most: 16 << 20 }))
 */
import fc from 'fast-check'
import { DecodeError, SourceError } from '../../packages/core/basics/errors.js'
import { runs } from './runs.js'

/** One change. Places and lengths are parts of 2^32 of the bytes that are there. */
interface Damage {
  kind: 'bit' | 'byte' | 'number' | 'cut' | 'behead' | 'remove' | 'repeat' | 'overwrite' | 'append'
  place: number
  other: number
  length: number
  number: bigint
  width: 1 | 2 | 4 | 8
  big: boolean
}

/** Counts and offsets that parsers trip over. */
const NUMBERS = [
  ...[0n, 1n, 2n, 0x7fn, 0x80n, 0xffn, 0x7fffn, 0xffffn, 0x10000n, 0x7fff_ffffn, 0x8000_0000n, 0xffff_ffffn],
  ...[1n << 32n, 1n << 40n, (1n << 53n) - 1n, 1n << 53n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n],
]

const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom<Damage['kind']>(
    ...(['bit', 'byte', 'number', 'number', 'number'] as const),
    ...(['cut', 'behead', 'remove', 'repeat', 'overwrite', 'append'] as const),
  ),
  // Headers are at the beginning or at the end: half of the damage is done there.
  place: fc.oneof(
    fc.nat(0xffff_ffff),
    fc.nat(0x0400_0000),
    fc.nat(0x0400_0000).map(x => 0xffff_ffff - x),
  ),
  other: fc.nat(0xffff_ffff),
  length: fc.oneof(fc.nat(0xffff_ffff), fc.nat(0x0100_0000)),
  number: fc.oneof(fc.constantFrom(...NUMBERS), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })),
  width: fc.constantFrom(1, 2, 4, 8),
  big: fc.boolean(),
})

/** The golden bytes with one to three changes. */
export function damaged(golden: Uint8Array): fc.Arbitrary<Uint8Array> {
  return fc
    .array(damage, { minLength: 1, maxLength: 3 })
    .map(all => all.reduce<Uint8Array>(apply, Uint8Array.from(golden)))
}

function apply(bytes: Uint8Array, { kind, place, other, length, number, width, big }: Damage): Uint8Array {
  const part = (of: number): number => Math.floor((of / 2 ** 32) * bytes.length)
  const [at, from] = [part(place), part(other)]
  const some = Math.min(part(length) + 1, bytes.length - at)
  switch (kind) {
    case 'bit':
      bytes[at] ^= 1 << (other & 7)
      return bytes
    case 'byte':
      bytes[at] = Number(number & 255n)
      return bytes
    case 'number':
      for (let i = 0; i < width && at + i < bytes.length; i++) {
        bytes[at + i] = Number((number >> BigInt(8 * (big ? width - 1 - i : i))) & 255n)
      }
      return bytes
    case 'cut':
      return bytes.slice(0, at)
    case 'behead':
      return bytes.slice(at)
    case 'remove':
      return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + some)])
    case 'repeat':
      return Uint8Array.from([...bytes.subarray(0, at + some), ...bytes.subarray(at)])
    case 'overwrite':
      bytes.copyWithin(at, from, from + some)
      return bytes
    case 'append':
      return Uint8Array.from([...bytes, ...bytes.slice(from, from + 64)])
  }
}

export interface Survival {
  /** No buffer may be larger than this (bytes). */
  most: number
  /** How many times the bytes are damaged in `npm test`, where reading takes long; else 100 times. */
  runs?: number
  /** What the message of every error must have: the file's name, say. */
  says?: RegExp
}

/** Gives damaged versions of the golden bytes to `read`, which may refuse them, or not notice. */
export async function survives(
  golden: Uint8Array,
  read: (bytes: Uint8Array) => unknown,
  { most, runs: few = 100, says }: Survival,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(damaged(golden), async bytes => {
      const refused = await bounded(most, () => read(bytes))
      if (refused === undefined) return
      if (!(refused instanceof SourceError || refused instanceof DecodeError)) {
        throw new Error(`came out: ${String(refused)}`, { cause: refused })
      }
      if (says !== undefined && !says.test(refused.message)) {
        throw new Error(`the message does not say ${says}: ${refused.message}`)
      }
    }),
    { numRuns: runs(few), includeErrorInReport: true },
  )
}

const ARRAYS = [
  ...(['ArrayBuffer', 'SharedArrayBuffer', 'Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array'] as const),
  ...([
    'Uint32Array',
    'Int32Array',
    'Float32Array',
    'Float64Array',
    'BigInt64Array',
    'BigUint64Array',
  ] as const),
]
const BUFFERS = ['alloc', 'allocUnsafe', 'allocUnsafeSlow'] as const

type Constructor = new (...given: unknown[]) => object

/** Runs `call`; returns what it threw, if anything. A buffer of more than `most` bytes is thrown as an error of its own. */
async function bounded(most: number, call: () => unknown): Promise<unknown> {
  const globals = globalThis as unknown as Record<string, Constructor>
  const buffers = Buffer as unknown as Record<string, (bytes: number, ...more: unknown[]) => Buffer>
  let tooLarge: Error | undefined
  const check = (elements: unknown, width = 1): void => {
    if (typeof elements !== 'number' || !(elements * width > most)) return
    throw (tooLarge ??= new Error(`${elements * width} bytes were asked for; ${most} are the bound`))
  }
  const undo: (() => void)[] = []
  for (const name of ARRAYS) {
    const plain = globals[name]
    const width = (plain as unknown as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT
    undo.push(() => (globals[name] = plain))
    globals[name] = new Proxy(plain, {
      construct(target, given, self) {
        check(given[0], width)
        return Reflect.construct(target, given, self)
      },
    })
  }
  for (const name of BUFFERS) {
    const plain = buffers[name]
    undo.push(() => (buffers[name] = plain))
    buffers[name] = (bytes, ...more) => {
      check(bytes)
      return plain.call(Buffer, bytes, ...more)
    }
  }
  try {
    await call()
  } catch (error) {
    return tooLarge ?? error
  } finally {
    for (const step of undo) step()
  }
  return tooLarge
}
