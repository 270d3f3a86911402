/**
 * The data of a workload, written once and used again. Each set (workload, scale, seed) has a folder:
 *
 *   DIR/unet3d-1of8-seed10/0000000.npz …   each appears by rename when it is whole
 *   DIR/unet3d-1of8-seed10/manifest.json   what the set is, and the bytes of every file; written last
 *
 * The manifest is believed only where it is about these parameters, and of files that are there with their bytes; a few files are
 * also compared with what they should hold. What is missing is written; a writer that was stopped goes on where it was.
 */
import { closeSync, openSync, readFileSync, readSync, statfsSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { SourceError } from '../../../build/core/basics/errors.js'
import { cacheFolder } from '../../../build/core/system/files/cache-folder.js'
import { sweepDrafts, writeWhole } from '../../../build/core/system/files/draft.js'
import { makeFolder } from '../../../build/core/system/files/folder.js'
import { kindOf } from '../../../build/core/system/files/regular.js'
import { spread } from '../../../build/core/system/node/threads.js'
import { count, bytes as inBytes } from '../../../build/observe/verdict/units.js'
import { painter } from './write/pictures.mjs'
import { RandomBytes } from './write/random-bytes.mjs'
import { fileBytes, fileName, filePattern, fileWriter } from './write/writer.mjs'

/** Changes where the same parameters make other data. */
const VERSION = 1
const MANIFEST = 'manifest.json'
/** Free bytes that stay on the disk. */
const SPARE = 1 << 30
/** Files whose contents are compared. */
const COMPARED = 3
/** So many bytes of each. */
const SAMPLE = 4096
export async function makeData(of, options) {
  const { seed, onProgress, onNotice } = options
  const files = filesOf(of, options)
  const folder = join(options.folder ?? join(cacheFolder(), 'workloads'), setName(of, seed))
  makeFolder(folder)
  sweepDrafts(folder)
  checkRoom(folder, files * meanFileBytes(of), 'blocks') // before so many files are looked for
  const right = rightFile(of, seed)
  const known = believed(folder, of, seed, right)
  const sizes = []
  const missing = []
  for (let file = 0; file < files; file++) {
    const path = join(folder, fileName(of, file))
    const size = sizeOf(path)
    if (size === undefined || !(size === known[file] || right(path, file, size))) missing.push(file)
    sizes[file] = size ?? 0
  }
  if (missing.length > 0) {
    const each = meanFileBytes(of)
    const bytes = missing.length * each
    checkRoom(folder, bytes, 'bavail')
    onNotice?.(
      `writing ${count(missing.length)} of ${count(files)} files of ${of.workload.name}, about ${inBytes(bytes)}, to ${folder} ` +
        `(the full workload has ${count(of.workload.fullFiles)} files, ${inBytes(of.workload.fullFiles * each)})`,
    )
    let done = 0
    await spread({
      threads: options.threads ?? availableParallelism(),
      worker: new URL('./write/worker.mjs', import.meta.url),
      setup: { folder, of, seed },
      start: fileWriter,
      tasks: missing,
      onProgress: more => onProgress?.((done += more), bytes, 'writing data', 'bytes'),
      onResult: ({ file, bytes }) => void (sizes[file] = bytes),
    })
  }
  const manifest = {
    version: VERSION,
    workload: of.workload.name,
    scale: of.scale,
    seed,
    sizes: [...sizes, ...known.slice(files)],
  }
  if (missing.length > 0 || known.length < files) writeWhole(join(folder, MANIFEST), JSON.stringify(manifest))
  return {
    ...{ folder, files, seed, reused: missing.length === 0, pattern: join(folder, filePattern(of, files)) },
    records: files * of.workload.recordsPerFile,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    fullBytes: of.workload.fullFiles * meanFileBytes(of),
    largest: Math.max(...sizes),
    paths: sizes.map((_, file) => join(folder, fileName(of, file))),
  }
}
function filesOf(of, { files, size }) {
  const { workload } = of
  if (files !== undefined) return Math.max(1, files)
  if (size !== undefined) return Math.max(1, Math.round(size / meanFileBytes(of)))
  // The default is said for the default scale: smaller records are more of them, up to a point.
  return Math.min(4 * workload.files, Math.round((workload.files * workload.scale) / of.scale))
}
function meanFileBytes({ recordBytes, workload }) {
  return recordBytes * workload.recordsPerFile
}
function setName({ workload, scale }, seed) {
  const share = scale === 1 ? '' : `-1of${Number((1 / scale).toFixed(3))}`
  return `${workload.name}${share}-seed${seed}`
}
/** The sizes that the manifest has, if it can be believed; none otherwise. */
function believed(folder, of, seed, right) {
  const sizes = manifestSizes(folder, of, seed)
  if (!sizes.every((size, file) => (fileBytes(of, seed, file) ?? size) === size)) return []
  const step = Math.max(1, Math.floor(sizes.length / COMPARED))
  for (let file = 0; file < sizes.length; file += step) {
    const path = join(folder, fileName(of, file))
    // A file of another size is written again, and says nothing of the others.
    if (sizeOf(path) === sizes[file] && !right(path, file, sizes[file])) return []
  }
  return sizes
}
function manifestSizes(folder, of, seed) {
  let manifest
  try {
    manifest = JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'))
  } catch {
    return []
  }
  const { version, workload, scale, sizes } = manifest ?? {}
  const about = version === VERSION && workload === of.workload.name && scale === of.scale
  return about && manifest?.seed === seed && Array.isArray(sizes) ? sizes : []
}
/** Undefined: it has to be written. */
function sizeOf(path) {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined || stats.isFile()) return stats?.size
  throw new SourceError(
    `${path} is ${kindOf(stats)}, where a file of the workload is written: take it away`,
    {
      file: path,
    },
  )
}
/**
 * Tells whether a file has the size that it should have, and begins as it should: the first random bytes stand there as they are. How
 * large a picture is, is only known by encoding it again.
 */
function rightFile(of, seed) {
  let paint
  return (path, file, size) => {
    if (of.workload.format !== 'jpeg')
      return size === fileBytes(of, seed, file) && begin(path).includes(new RandomBytes(seed, file).first(64))
    paint ??= painter(seed)
    const picture = paint(file)
    return size === picture.length && begin(path).equals(picture.subarray(0, SAMPLE))
  }
}
function begin(path) {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(SAMPLE)
    return bytes.subarray(0, readSync(fd, bytes, 0, SAMPLE, 0))
  } finally {
    closeSync(fd)
  }
}
/** Throws where so many bytes don't fit: into what is free of the disk, or into all of it. */
function checkRoom(folder, bytes, of) {
  const disk = statfsSync(folder)
  if (bytes + SPARE > disk[of] * disk.bsize)
    throw new SourceError(
      `no room for ${inBytes(bytes)} in ${folder}: ${inBytes(disk.bavail * disk.bsize)} are free, and ${inBytes(SPARE)} stay free: ` +
        'take fewer (--size 1GB, --files N), or another place (--data DIR)',
      { file: folder },
    )
}
