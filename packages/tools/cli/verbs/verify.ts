/** `millrace verify`: reads and decodes everything, and names every bad sample. */

import { printable } from '../../../core/basics/errors.js'
import { command, THREADS } from '../command.js'
import { flagsOf } from '../option-flags.js'
import { notice, Progress } from '../progress.js'
import { bytes, count, counted, duration, rate } from '../units.js'

/** Bad samples that are printed; --json has all. */
const SHOWN = 100

export const verify = command({
  name: 'verify',
  summary: 'reads and decodes every sample, names every bad one',
  about:
    'Reads and decodes every sample with the decoders that a run uses. Names each bad one with its file, offset ' +
    'and cause; exits with 1 if there are any. Indexes are not believed: the data are indexed anew and compared.',
  args: [{ name: 'PATH|FEED', about: 'a folder, tar shards, a source as JSON, or the definition of a feed' }],
  options: {
    ...THREADS,
    ...flagsOf('verify'),
  },
  examples: [
    ["millrace verify 'shards/train-{0000..0015}.tar'", 'every column, as what its name says'],
    ['millrace verify cats.json#val --json', 'the columns that the fields of a feed take'],
  ],
  async run({ args: [path], values }) {
    const [{ verify }, { locate }, { usableCores }] = await Promise.all([
      import('../../prepare/verify/verify.js'),
      import('../locate.js'),
      import('../../../core/system/process/limits.js'),
    ])
    const plugins = values.plugin
    const { source, root, fields } = await locate(path, values['allow-code'], plugins)
    const progress = new Progress('verifying', { unit: 'samples' })
    const before = performance.now()
    const result = await verify(source, {
      root,
      fields,
      plugins,
      workers: values.workers ?? usableCores(),
      onProgress: (...reported) => progress.set(...reported),
      onNotice: notice,
    })
    progress.end()
    const seconds = (performance.now() - before) / 1000
    const lines = result.bad.slice(0, SHOWN).map(bad => {
      const file = bad.file === undefined ? '' : ` (${printable(bad.file)} at byte ${bad.offset ?? 0})`
      const column = bad.column === undefined ? '' : ` of "${bad.column}"`
      return `bad: ${printable(bad.id)}${file}: ${bad.stage}${column} failed: ${printable(bad.cause)}`
    })
    if (result.bad.length > SHOWN)
      lines.push(`… and ${count(result.bad.length - SHOWN)} more (--json has all)`)
    const badSamples = new Set(result.bad.map(bad => bad.id)).size
    const verdict = badSamples === 0 ? 'all good' : counted(badSamples, 'bad sample')
    lines.push(
      `${counted(result.samples, 'sample')}, ${bytes(result.bytes)}: ${verdict}, ` +
        `in ${duration(seconds)} (${rate(result.samples / seconds)})`,
    )
    return {
      json: { ...result, badSamples, seconds },
      text: lines.join('\n'),
      code: badSamples === 0 ? 0 : 1,
    }
  },
})
