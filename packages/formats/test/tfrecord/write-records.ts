/** Writes TFRecord files: the framing, and tf.Example messages. */
import { crc32c } from '../../../core/codec/checksum.js'

export type FeatureValue =
  | Uint8Array
  | string
  | (Uint8Array | string)[]
  | { ints: bigint[] | number[] }
  | { floats: number[] }

/** Records one after another, each in its frame. */
export function tfrecordFile(records: readonly Uint8Array[]): Buffer {
  return Buffer.concat(records.map(framed))
}

/** What stands before data of so many bytes. */
export function lengthOf(bytes: number): Buffer {
  const head = Buffer.alloc(12)
  head.writeBigUInt64LE(BigInt(bytes))
  head.writeUInt32LE(masked(head.subarray(0, 8)), 8)
  return head
}

export function framed(data: Uint8Array): Buffer {
  const head = lengthOf(data.length)
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(masked(data))
  return Buffer.concat([head, data, tail])
}

export function example(features: Record<string, FeatureValue>): Buffer {
  const entries = Object.entries(features).map(([name, value]) =>
    message(1, Buffer.concat([message(1, Buffer.from(name)), message(2, feature(value))])),
  )
  return message(1, Buffer.concat(entries))
}

function feature(value: FeatureValue): Buffer {
  if (typeof value === 'object' && 'ints' in value)
    return message(
      3,
      message(1, Buffer.concat(value.ints.map(int => varint(BigInt.asUintN(64, BigInt(int)))))),
    )
  if (typeof value === 'object' && 'floats' in value)
    return message(2, message(1, Buffer.from(Float32Array.from(value.floats).buffer)))
  const values = Array.isArray(value) ? value : [value]
  return message(1, Buffer.concat(values.map(one => message(1, Buffer.from(one)))))
}

function message(number: number, data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of((number << 3) | 2), varint(BigInt(data.length)), data])
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)])
    bytes.push(Number(left & 127n) | 128)
  }
}

function masked(bytes: Uint8Array): number {
  const crc = crc32c(bytes)
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}
