/** What `--trace` says when a run has ended. */
import { say } from '../../say.js'
import { counted } from '../../units.js'
import type { EndedTrace } from './recorded.js'

/** Where the trace is, and how to look at it. */
export function traceLine(trace: EndedTrace | undefined): string {
  if (trace === undefined || trace.failed !== undefined) return ''
  const { file, full, lost } = trace
  const missing = [
    ...(full ? ['it ended at --trace-limit, before the run did'] : []),
    ...(lost > 0 ? [`${counted(lost, 'record')} came too fast`] : []),
  ]
  const but = missing.length > 0 ? `; ${missing.join('; ')}` : ''
  const how = /\.json(\.gz)?$/.test(file) ? ' (drop it on ui.perfetto.dev)' : ''
  return `\ntrace: ${file}${how}${but}`
}

/** Tells of a trace that could not be written to its end. The result of the run is printed all the same. Returns the exit status. */
export function tellFailure(trace: EndedTrace | undefined): number {
  if (trace?.failed === undefined) return 0
  const text = `--trace ${trace.file} is not whole: ${trace.failed}. The run itself went on to its end`
  say(`millrace: ${text}`)
  return 1
}
