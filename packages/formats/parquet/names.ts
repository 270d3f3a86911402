/** What Parquet's numbers mean: physical types, codecs, encodings. */
import type { CodecName } from '../../core/codec/codec.js'

/** Physical types, by their numbers. */
export const PHYSICAL = [
  'BOOLEAN',
  'INT32',
  'INT64',
  'INT96',
  'FLOAT',
  'DOUBLE',
  'BYTE_ARRAY',
  'FIXED_LEN_BYTE_ARRAY',
] as const

export type Physical = (typeof PHYSICAL)[number]

/** Codecs, by their numbers: what Parquet calls them. */
export const CODECS = ['uncompressed', 'snappy', 'gzip', 'lzo', 'brotli', 'lz4', 'zstd', 'lz4_raw'] as const

/** How each is taken off. Hadoop's lz4 has frames of its own (compressed.ts). */
export const DECOMPRESSED: Readonly<Record<number, CodecName | 'none' | 'hadoop-lz4'>> = {
  0: 'none',
  1: 'snappy',
  2: 'gzip',
  4: 'brotli',
  5: 'hadoop-lz4',
  6: 'zstd',
  7: 'lz4-block',
}

export const ENCODING = {
  PLAIN: 0,
  PLAIN_DICTIONARY: 2,
  RLE: 3,
  BIT_PACKED: 4,
  DELTA_BINARY_PACKED: 5,
  DELTA_LENGTH_BYTE_ARRAY: 6,
  DELTA_BYTE_ARRAY: 7,
  RLE_DICTIONARY: 8,
  BYTE_STREAM_SPLIT: 9,
} as const

/** An encoding in words. */
export function encodingName(encoding: number): string {
  return Object.entries(ENCODING).find(([, number]) => number === encoding)?.[0] ?? `number ${encoding}`
}
