/** Writes one file of a workload. Runs in threads. */
import { join } from 'node:path'
import { Draft } from '../../../../build/core/system/files/draft.js'
import { npzBytes, writeNpz } from './npz.mjs'
import { painter } from './pictures.mjs'
import { RandomBytes, recordBytesOf } from './random-bytes.mjs'
import { tfrecordBytes, writeRecord } from './tfrecord.mjs'

const ENDINGS = { npz: 'npz', tfrecord: 'tfrecord', jpeg: 'jpg' }
/** Digits of a file's number: names sort as numbers do. */
const DIGITS = 7
export function fileName({ workload }, file) {
  return `${String(file).padStart(DIGITS, '0')}.${ENDINGS[workload.format]}`
}
/** The first `files` of them, as a pattern. */
export function filePattern(of, files) {
  if (files === 1) return fileName(of, 0)
  const [first, last] = [fileName(of, 0), fileName(of, files - 1)]
  return `{${first.slice(0, DIGITS)}..${last.slice(0, DIGITS)}}${first.slice(DIGITS)}`
}
/** Bytes that file `file` has; of a picture that is known only once it is encoded. */
export function fileBytes(of, seed, file) {
  const { format, recordsPerFile } = of.workload
  if (format === 'jpeg') return undefined
  const one = format === 'npz' ? npzBytes : tfrecordBytes
  let bytes = 0
  for (let i = 0; i < recordsPerFile; i++) bytes += one(recordBytesOf(of, seed, file * recordsPerFile + i))
  return bytes
}
export function fileWriter({ folder, of, seed }) {
  const { format, recordsPerFile } = of.workload
  const picture = format === 'jpeg' ? painter(seed) : undefined
  return (file, report) => {
    const draft = Draft.open(join(folder, fileName(of, file)))
    try {
      const random = new RandomBytes(seed, file)
      if (picture) draft.write(picture(file))
      else if (format === 'npz') writeNpz(draft, recordBytesOf(of, seed, file), random)
      else
        for (let i = 0; i < recordsPerFile; i++)
          writeRecord(draft, recordBytesOf(of, seed, file * recordsPerFile + i), random)
      const { bytes } = draft
      draft.commit(false) // the manifest is written last, and checked before it is believed
      report(bytes)
      return { file, bytes }
    } catch (error) {
      draft.discard()
      throw error
    }
  }
}
