/** `millrace trace convert`: from one format of traces to another. */
import { command } from '../../command.js'
import { bytes, counted } from '../../units.js'
import { checkTracePlace } from './place.js'

export const convert = command({
  name: 'trace convert',
  summary: 'writes a trace in another format',
  about:
    'Reads what `trace show` reads, and writes what the name of OUT says: .json for Perfetto, .pfw for DFTracer; .gz compressed.',
  args: [
    { name: 'IN', about: 'a trace' },
    { name: 'OUT', about: 'the file to write: .json, .json.gz, .pfw or .pfw.gz' },
  ],
  options: {},
  examples: [['millrace trace convert run.json.gz run.pfw.gz', 'for DFAnalyzer']],
  async run({ args: [from, to] }) {
    const { convertTrace } = await import('../../../observe/trace/read/convert.js')
    await checkTracePlace('OUT', to, { IN: from })
    const { events, bad, cut, bytes: size } = await convertTrace(from, to)
    const rest = bad > 0 ? `; ${counted(bad, 'event')} can't be read` : ''
    return {
      json: { from, to, events, bad, cut, bytes: size },
      text: `${to}: ${counted(events, 'event')}, ${bytes(size)}${rest}${cut ? '; the trace has no end' : ''}`,
    }
  },
})
