/** `millrace probe`: how fast the storage of a path is, and what to do about it. */

import { memoryLimit } from '../../../core/system/process/limits.js'
import { adviceOf, fastest } from '../../prepare/probe/advice.js'
import {
  labelOf,
  type Measured,
  probe as measure,
  type Probed,
  type Speed,
} from '../../prepare/probe/probe.js'
import { command, UsageError } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { Progress } from '../progress.js'
import { right, table } from '../table.js'
import { bytes, counted, duration, rate } from '../units.js'

type Advised = Omit<Probed, 'measures'> & { measures: (Measured & { advice: string })[] }

export const probe = command({
  name: 'probe',
  summary: 'measures how fast storage is: sequential, random, small files, metadata',
  about:
    'Reads files below each path and says how fast that went, cold (bytes were absent from the page cache) and warm. It drops nothing from the page cache, and writes nothing without --write.',
  args: [{ name: 'PATH', about: 'a folder of data, or a file', many: true }],
  options: {
    seconds: { type: 'number', value: 'S', default: 10, least: 0, about: 'how long each path is measured' },
    write: {
      type: 'flag',
      about:
        'write files to measure with (260 MiB), where the path has none of a kind, and take them away again',
    },
  },
  examples: [
    ['millrace probe /data', 'is this storage fast enough?'],
    ['millrace probe /data /scratch --seconds 5', 'which of two is faster'],
    ['millrace probe /scratch --write', 'an empty folder, or one whose files are all in memory'],
  ],
  async run({ args, values: { seconds, write } }) {
    if (seconds <= 0) throw new UsageError('--seconds wants a number above 0')
    // A terminal that is closed ends a probe as SIGTERM does: what --write wrote is taken away.
    process.once('SIGHUP', () => process.kill(process.pid, 'SIGTERM'))
    const progress = new Progress('probing', { unit: 'measures' })
    const all: Probed[] = []
    for (const [i, path] of args.entries()) {
      const onProgress = (done: number, of: number, what: string) =>
        progress.set(i * of + done, args.length * of, `${path}: ${what}`)
      all.push(await measure(path, { seconds, write, onProgress, onWritten: onInterrupt }))
    }
    progress.end()
    const free = memoryLimit().bytes
    const paths = all.map(probed => {
      const measures = probed.measures.map(one => ({ ...one, advice: adviceOf(one, probed, free) }))
      return { ...probed, measures }
    })
    const best = fastest(all)
    return {
      json: { paths, ...(best && { fastest: best }) },
      text: [...paths.map(describe), ...(best ? [best] : [])].join('\n\n'),
    }
  },
})

function describe({ path, fileSystem, files, bytes: size, more, measures }: Advised): string {
  const found = `${path}: ${fileSystem}, ${more ? 'more than ' : ''}${counted(files, 'file')} of ${bytes(size)}`
  const figures = ['cold', 'warm', 'unknown'].map(right)
  const rows = measures.map(one => [
    labelOf(one),
    ...[one.cold, one.warm, one.unknown].map(shown),
    one.advice,
  ])
  return `${found}
${table(['measure', ...figures, 'advice'], rows)}`
}

/** `112 MB/s, 1.1 ms each` or, of metadata, how many a second. */
function shown(speed: Speed | null): string {
  if (speed === null) return ''
  const each = `${duration(speed.ms / 1000)} each`
  return speed.bytesPerSecond > 0
    ? `${(speed.bytesPerSecond / 1e6).toFixed(speed.bytesPerSecond < 1e7 ? 2 : 0)} MB/s, ${each}`
    : `${rate(speed.opsPerSecond)}, ${each}`
}
