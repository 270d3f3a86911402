/** `millrace index`: builds the index that otherwise the first run builds. */
import { command } from '../command.js'
import { flagsOf } from '../option-flags.js'
import { keptNotices, Progress } from '../progress.js'
import { bytes, counted, duration } from '../units.js'

export const index = command({
  name: 'index',
  summary: 'builds the index of a dataset ahead of its first run',
  args: [
    {
      name: 'PATH|FEED',
      about: 'a folder, a file or a pattern, a source as JSON, or the definition of a feed',
    },
  ],
  options: {
    force: { type: 'flag', about: 'build it again even if it seems right' },
    ...flagsOf('index'),
  },
  examples: [
    ["millrace index 'shards/train-{0000..0015}.tar'", 'one sidecar a shard, beside it'],
    ['millrace index photos --force', 'all of it anew, in place of an index that is there'],
  ],
  async run({ args: [path], values }) {
    const [{ buildIndex }, { locate }] = await Promise.all([
      import('../../prepare/build-index.js'),
      import('../locate.js'),
    ])
    const plugins = values.plugin
    const { source, root } = await locate(path, values['allow-code'], plugins)
    const { notices, onNotice } = keptNotices()
    const progress = new Progress('indexing', { unit: 'bytes' })
    const before = performance.now()
    const result = await buildIndex(source, {
      root,
      force: values.force,
      onProgress: (...reported) => progress.set(...reported),
      onNotice,
    })
    progress.end()
    const seconds = (performance.now() - before) / 1000
    return {
      json: { ...result, notices, seconds },
      text: `${counted(result.samples, 'sample')}, index of ${bytes(result.indexBytes)}, in ${duration(seconds)}`,
    }
  },
})
