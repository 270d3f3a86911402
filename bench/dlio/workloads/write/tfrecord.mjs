/**
 * TFRecord files of tf.Examples with two features, as DLIO writes them: `image`, the record's bytes, and `size`, their number.
 * A record lies there as packages/formats/tfrecord/record.ts says; a tf.Example is a protocol buffer:
 *
 *   Example  1: Features   1: { 1: name, 2: Feature 1: BytesList 1: bytes } …   and   { … 2: Feature 3: Int64List 1: varint }
 */
import { crc32c } from '../../../../build/core/codec/checksum.js'
import { FRAME, HEAD, masked } from '../../../../build/formats/tfrecord/record.js'

const FOOT = FRAME - HEAD
/** Bytes of a record of so many bytes of an image, with all that stands around them. */
export function tfrecordBytes(image) {
  return FRAME + before(image).length + image + after(image).length
}
/** Appends one record. */
export function writeRecord(draft, image, random) {
  const first = before(image)
  const last = after(image)
  const length = first.length + image + last.length
  const head = Buffer.alloc(HEAD)
  head.writeBigUInt64LE(BigInt(length), 0)
  head.writeUInt32LE(masked(crc32c(head.subarray(0, 8))), 8)
  draft.write(head)
  let crc = 0
  const write = piece => {
    crc = crc32c(piece, crc)
    draft.write(piece)
  }
  write(first)
  for (const piece of random.take(image)) write(piece)
  write(last)
  const foot = Buffer.alloc(FOOT)
  foot.writeUInt32LE(masked(crc), 0)
  draft.write(foot)
}
/** All of the example before the bytes of its image. */
function before(image) {
  const list = 1 + varint(image).length + image
  const feature = 1 + varint(list).length + list
  const entry = 2 + 'image'.length + 1 + varint(feature).length + feature
  const features = 1 + varint(entry).length + entry + after(image).length
  return Buffer.concat([
    tag(1, features),
    tag(1, entry),
    named('image'),
    tag(2, feature),
    tag(1, list),
    tag(1, image),
  ])
}
/** And behind them. */
function after(image) {
  const packed = varint(image)
  const list = Buffer.concat([tag(1, packed.length), packed])
  const feature = Buffer.concat([tag(3, list.length), list])
  const entry = Buffer.concat([named('size'), tag(2, feature.length), feature])
  return Buffer.concat([tag(1, entry.length), entry])
}
function named(name) {
  return Buffer.concat([tag(1, name.length), Buffer.from(name)])
}
/** A field whose value has a length. */
function tag(field, length) {
  return Buffer.concat([Buffer.of((field << 3) | 2), varint(length)])
}
function varint(value) {
  const out = []
  for (; value >= 128; value = Math.floor(value / 128)) out.push((value % 128) | 128)
  return Buffer.of(...out, value)
}
