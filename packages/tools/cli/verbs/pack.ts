/** `millrace pack`: a folder of files becomes tar shards that are read fast. */
import { command, THREADS, UsageError } from '../command.js'
import { onInterrupt } from '../interrupt.js'
import { flagsOf } from '../option-flags.js'
import { notice, Progress } from '../progress.js'
import { bytes, count, counted, duration, rate } from '../units.js'

/** Large enough for sequential reading, small enough to move about. */
const USUAL_SHARD_BYTES = 256 << 20

export const pack = command({
  name: 'pack',
  summary: 'packs a folder of files into tar shards with an index',
  about:
    'Packs samples into WebDataset tar shards, in parallel, with an index beside them. A pack that was stopped, ' +
    'even by kill -9, goes on where it was when it is started again, and ends with the same bytes.',
  args: [
    {
      name: 'SRC',
      about:
        'a folder (its subfolders are classes), files, a list such as train.csv, tar shards to divide anew, or a source as JSON',
    },
  ],
  options: {
    out: { type: 'text', value: 'DIR', about: 'folder for the shards (needed)' },
    shards: { type: 'count', least: 1, about: 'this many shards of equal length' },
    'per-shard': { type: 'count', least: 1, about: 'this many samples a shard' },
    'shard-size': {
      type: 'bytes',
      least: 1,
      about: 'at most this many bytes a shard (256MiB by default)',
    },
    prefix: { type: 'text', value: 'NAME', default: 'train', about: "beginning of the shards' names" },
    shuffle: { type: 'flag', about: 'shuffle the samples on the way' },
    seed: { type: 'count', default: 0, about: 'seed of that shuffle' },
    ...THREADS,
    force: { type: 'flag', about: 'replace the shards of another pack' },
    ...flagsOf('pack'),
  },
  examples: [
    ['millrace pack photos --out shards', 'photos/cat/*.jpg, photos/dog/*.jpg … → shards/train-0000.tar …'],
    ['millrace pack photos/val --out shards --prefix val --shards 8', 'exactly eight shards'],
  ],
  async run({ args: [path], values }) {
    const divided = division(values.shards, values['per-shard'], values['shard-size'])
    if (values.out === undefined)
      throw new UsageError('millrace pack needs --out DIR, the folder for the shards')
    if (/[/\0]/.test(values.prefix))
      throw new UsageError(
        `--prefix is the beginning of a file's name, not "${values.prefix}": folders go to --out`,
      )
    const [{ pack }, { sourceAt }, { usableCores }, { sweepDrafts }] = await Promise.all([
      import('../../prepare/pack/pack.js'),
      import('../../prepare/locate.js'),
      import('../../../core/system/process/limits.js'),
      import('../../../core/system/files/draft.js'),
    ])
    const plugins = values.plugin
    const { out, prefix } = values
    const progress = new Progress('packing', { unit: 'samples' })
    const notices: string[] = []
    const before = performance.now()
    const release = onInterrupt(() => sweepDrafts(out, true))
    try {
      const result = await pack(await sourceAt(path, values['allow-code']), {
        out,
        prefix,
        division: divided,
        ...(values.shuffle && { shuffle: values.seed }),
        workers: values.workers ?? usableCores(),
        plugins,
        force: values.force,
        onProgress: (...reported) => progress.set(...reported),
        onNotice: text => notices.push(text),
      })
      progress.end()
      for (const text of notices) notice(text)
      const seconds = (performance.now() - before) / 1000
      const reused =
        result.reused > 0
          ? ` (${count(result.reused)} ${result.reused === 1 ? 'was' : 'were'} there already)`
          : ''
      return {
        json: { ...result, notices, seconds, samplesPerSecond: result.samples / seconds },
        text:
          `${counted(result.samples, 'sample')} in ${counted(result.shards.length, 'shard')}${reused}, ` +
          `${bytes(result.bytes)}, in ${duration(seconds)} (${rate(result.samples / seconds)})\n` +
          `${result.out}/${prefix}-*.tar`,
      }
    } finally {
      progress.end()
      release()
    }
  },
})

function division(shards?: number, perShard?: number, shardBytes?: number) {
  const given = [shards, perShard, shardBytes].filter(value => value !== undefined)
  if (given.length > 1)
    throw new UsageError('give one of --shards, --per-shard and --shard-size, not several')
  if (shards !== undefined) return { shards }
  if (perShard !== undefined) return { perShard }
  return { shardBytes: shardBytes ?? USUAL_SHARD_BYTES }
}
