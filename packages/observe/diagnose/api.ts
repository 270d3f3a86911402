/** Diagnosing, for programs: loaded when it is asked for, so that others start without it. */

import type { FeedJson } from '../../core/define/types.js'
import { noticeRemoved } from '../../core/deliver/option-table.js'
import type { OpenOptions } from '../../core/deliver/options.js'
import type { Diagnosis } from '../evidence.js'
import type { DiagnoseLiveOptions } from './attach/live.js'
import type { DiagnoseFeedOptions } from './feed.js'
import type { Findings } from './findings.js'

/** Opens a feed, feeds a simulated trainer, and says why it would wait. What `millrace diagnose FEED` does. */
export async function diagnoseFeed(
  json: FeedJson,
  opening: OpenOptions = {},
  options: Partial<DiagnoseFeedOptions> = {},
): Promise<Findings> {
  noticeRemoved('diagnose', options)
  const filled = { stepMs: 0, steps: 200, seconds: 30, progress: () => {}, ...options }
  return (await import('./feed.js')).diagnoseFeed(json, opening, filled)
}

/**
 * Looks at a trainer that runs in the process `pid`, which may be this one. It only reads. What `millrace diagnose --attach PID`
 * does.
 */
export async function diagnoseLive(
  pid: number,
  options: Partial<DiagnoseLiveOptions> = {},
): Promise<Findings> {
  noticeRemoved('diagnose', options)
  const filled = { steps: 200, seconds: 30, progress: () => {}, ...options }
  return (await import('./attach/live.js')).diagnoseLive(pid, filled)
}

/** A diagnosis in words, as `millrace diagnose` prints it. */
export async function explainDiagnosis(diagnosis: Diagnosis): Promise<string> {
  return (await import('../verdict/words.js')).explain(diagnosis)
}
