/**
 * What explains a run: diagnoses, run logs, spans, Prometheus' text (docs/measure.md).
 *
 *   import { diagnoseLive, explainDiagnosis } from 'millrace/observe'
 *
 *   console.log(explainDiagnosis(await diagnoseLive(pid)))
 *
 * @module
 */
import './registry.js'

export { type AttachedSpans, attachSpans, type SpanWriter, spanWriters } from '../core/spans/attach.js'
export type { LaneInfo, RingInfo, SpanCursor, SpanRead, SpanRecord } from '../core/spans/reader.js'
export { diagnoseFeed, diagnoseLive, explainDiagnosis } from '../observe/diagnose/api.js'
export type { DiagnoseLiveOptions } from '../observe/diagnose/attach/live.js'
export type { DiagnoseFeedOptions } from '../observe/diagnose/feed.js'
export type { Findings } from '../observe/diagnose/findings.js'
export type { Accounting, Diagnosis, Evidence } from '../observe/evidence.js'
export type { RunRecord, TunerDecision } from '../observe/live/record.js'
export type { Watched } from '../observe/live/watcher.js'
export type { LogHeader } from '../observe/log/lines.js'
export {
  alignRanks,
  type LoggedMoment,
  type LoggedRank,
  type LoggedRun,
  readRunLog,
} from '../observe/log/read.js'
export { type Exposed, prometheus } from '../observe/metrics/prometheus.js'
