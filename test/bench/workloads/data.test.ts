/** The data of workloads: as NumPy and a reader of TFRecords in Python find them, and believed only when they are right. */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { makeData } from '../../../src/bench/workloads/data.js'
import { feedOf } from '../../../src/bench/workloads/feeds.js'
import { parseScale, scaled, type WorkloadName, workloadOf } from '../../../src/bench/workloads/table.js'
import { recordBytesOf } from '../../../src/bench/workloads/write/random-bytes.js'
import { temporaryFolder } from '../../support/folder.js'
import { withoutPython } from '../../support/python.js'

const SEED = 10

function small(name: WorkloadName, scale: number | undefined = undefined) {
  return scaled(workloadOf(name), undefined, scale)
}

async function made(name: WorkloadName, files: number, scale?: number) {
  const folder = temporaryFolder()
  const of = small(name, scale)
  return { of, folder, data: await makeData(of, { folder, files, seed: SEED, threads: 0 }) }
}

/** A reader of its own: lengths, and masked CRC-32C of length and data. Tests that it can tell right from wrong by a known sum. */
const READER = `
import struct, sys
table = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    table.append(crc)
def masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
assert masked(b"123456789") == ((((0xE3069283 >> 15) | (0xE3069283 << 17)) + 0xA282EAD8) & 0xFFFFFFFF)
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]; at += 1
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: return value, at
def message(data):
    at = 0; out = []
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        out.append((key >> 3, value))
    assert at == len(data)
    return out
data = open(sys.argv[1], "rb").read()
at = 0
while at < len(data):
    (length,) = struct.unpack_from("<Q", data, at)
    assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at:at + 8])
    record = data[at + 12:at + 12 + length]
    assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(record)
    ((one, features),) = message(record)
    found = {}
    for field, entry in message(features):
        parts = dict(message(entry))
        ((kind, values),) = message(parts[2])
        found[parts[1].decode()] = (kind, dict(message(values))[1])
    kind, image = found["image"]
    assert kind == 1 and found["size"][0] == 3
    size, _ = varint(found["size"][1], 0)
    assert size == len(image)
    print(len(image))
    at += 16 + length
`

describe('data', () => {
  test.skipIf(withoutPython !== undefined)(
    'NumPy reads the arrays of unet3d, and compares their checksums',
    async () => {
      const { of, data } = await made('unet3d', 3, 1 / 2048)
      const script =
        'import sys, numpy\nfor path in sys.argv[1:]:\n    x = numpy.load(path)["x"]\n    print(x.dtype, x.ndim, len(x), len(set(x[:4096].tolist())) > 200)'
      const lines = execFileSync('python3', ['-c', script, ...data.paths], { encoding: 'utf8' })
        .trim()
        .split('\n')
      expect(lines).toEqual([0, 1, 2].map(i => `uint8 1 ${recordBytesOf(of, SEED, i)} True`))
    },
  )

  test('another reader finds the records of cosmoflow and resnet50, with right checksums', async () => {
    for (const name of ['cosmoflow', 'resnet50'] as const) {
      const { of, data } = await made(name, 1, 1 / 1024)
      const out = execFileSync('python3', ['-c', READER, data.paths[0]], { encoding: 'utf8' })
      const { recordsPerFile } = of.workload
      expect(out.trim().split('\n').map(Number)).toEqual(
        Array.from({ length: recordsPerFile }, (_, i) => recordBytesOf(of, SEED, i)),
      )
      const file = readFileSync(data.paths[0])
      if (name === 'cosmoflow') expect(gzipSync(file).length).toBeGreaterThan(file.length)
    }
  })

  test('pictures are JPEGs of about the size that RetinaNet’s have', async () => {
    const { of, data } = await made('retinanet', 12)
    const mean = data.bytes / data.files
    expect(Math.abs(mean / of.recordBytes - 1)).toBeLessThan(0.1)
    for (const path of data.paths) expect(readFileSync(path).readUInt16BE(0)).toBe(0xffd8)
  })

  test('sizes are distributed as they should be, within bounds', () => {
    const of = small('unet3d')
    const sizes = Array.from({ length: 4000 }, (_, i) => recordBytesOf(of, SEED, i))
    const mean = sizes.reduce((a, b) => a + b, 0) / sizes.length
    const deviation = Math.sqrt(sizes.reduce((a, b) => a + (b - mean) ** 2, 0) / sizes.length)
    expect(Math.abs(mean / of.recordBytes - 1)).toBeLessThan(0.03)
    expect(Math.abs(deviation / of.deviation - 1)).toBeLessThan(0.08)
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(1e6 / 8)
    expect(parseScale('1/8')).toBe(0.125)
    expect(() => parseScale('8')).toThrow('a share such as 1/8')
    expect(() => scaled(workloadOf('retinanet'), 'h100')).toThrow('there are b200')
    expect(() => workloadOf('unet3')).toThrow('did you mean unet3d?')
  })
})

describe('a set of data', () => {
  test('is the same again, and is used again', async () => {
    const [a, b] = [await made('cosmoflow', 3, 1 / 256), await made('cosmoflow', 3, 1 / 256)]
    for (const i of [0, 1, 2]) expect(readFileSync(a.data.paths[i])).toEqual(readFileSync(b.data.paths[i]))
    expect(a.data.reused).toBe(false)
    const again = await makeData(a.of, { folder: a.folder, files: 3, seed: SEED, threads: 0 })
    expect(again).toEqual({ ...a.data, reused: true })
    // Fewer are a part of it, and do not shorten it; more are added.
    const fewer = await makeData(a.of, { folder: a.folder, files: 2, seed: SEED, threads: 0 })
    expect([fewer.files, fewer.reused]).toEqual([2, true])
    const more = await makeData(a.of, { folder: a.folder, files: 4, seed: SEED, threads: 0 })
    expect([more.files, more.reused]).toEqual([4, false])
    expect((await makeData(a.of, { folder: a.folder, files: 4, seed: SEED, threads: 0 })).reused).toBe(true)
  })

  test('is not believed where a file is short, gone or another', async () => {
    const { of, folder, data } = await made('cosmoflow', 3, 1 / 256)
    const again = () => makeData(of, { folder, files: 3, seed: SEED, threads: 0 })
    const whole = data.paths.map(path => readFileSync(path))
    truncateSync(data.paths[1], 100)
    expect((await again()).reused).toBe(false)
    expect(readFileSync(data.paths[1])).toEqual(whole[1])
    // The same size, other contents: files are compared, too.
    writeFileSync(data.paths[0], Buffer.alloc(whole[0].length))
    await again()
    expect(readFileSync(data.paths[0])).toEqual(whole[0])
    for (const manifest of ['{"version": 1, "sizes": "none"}', 'null', '3']) {
      writeFileSync(join(data.folder, 'manifest.json'), manifest)
      expect((await again()).bytes).toBe(data.bytes)
    }
    rmSync(data.paths[2])
    mkdirSync(data.paths[2])
    await expect(again()).rejects.toThrow('is a folder, where a file of the workload is written')
  })

  test('of pictures is not believed where one is cut short or empty, with a manifest or without', async () => {
    const { of, folder, data } = await made('retinanet', 4)
    const manifest = join(data.folder, 'manifest.json')
    const known = readFileSync(manifest, 'utf8')
    const whole = data.paths.map(path => readFileSync(path))
    for (const kept of [true, false]) {
      truncateSync(data.paths[1], 10_000)
      truncateSync(data.paths[2], 0)
      if (!kept) rmSync(manifest)
      const again = await makeData(of, { folder, files: 4, seed: SEED, threads: 0 })
      expect(again).toEqual(data)
      expect(data.paths.map(path => readFileSync(path))).toEqual(whole)
      expect(readFileSync(manifest, 'utf8')).toBe(known)
    }
  })

  test('whose manifest has more files than are asked for keeps them in it', async () => {
    const { of, folder, data } = await made('cosmoflow', 3, 1 / 256)
    const manifest = readFileSync(join(data.folder, 'manifest.json'), 'utf8')
    truncateSync(data.paths[0], 100)
    await makeData(of, { folder, files: 1, seed: SEED, threads: 0 })
    expect(readFileSync(join(data.folder, 'manifest.json'), 'utf8')).toBe(manifest)
  })

  test('goes on where a writer was stopped: what is whole is not written again', async () => {
    const { of, folder, data } = await made('cosmoflow', 3, 1 / 256)
    writeFileSync(join(data.folder, 'manifest.json'), '')
    const past = new Date('2020-01-01')
    utimesSync(data.paths[0], past, past)
    truncateSync(data.paths[2], 0)
    await makeData(of, { folder, files: 3, seed: SEED, threads: 0 })
    expect(statSync(data.paths[0]).mtime).toEqual(past)
    expect(statSync(data.paths[2]).size).toBeGreaterThan(0)
    expect(readdirSync(data.folder)).toHaveLength(4)
  })

  test('that is larger than the disk is refused before it is written', async () => {
    const folder = temporaryFolder()
    await expect(makeData(small('unet3d'), { folder, size: 1e16, seed: SEED, threads: 0 })).rejects.toThrow(
      'no room for',
    )
  })

  test('of records that don’t fit into a slot is refused with what does', async () => {
    const data = { records: 100, seed: SEED, pattern: 'x' } as Parameters<typeof feedOf>[1]
    expect(() => feedOf(small('unet3d', 1), data)).toThrow('take --scale 1/8')
  })
})
