/** The process of one run of a configuration. */
import { serve } from './child-process.js'
import { runOnce } from './one-run.js'
import type { RunAnswer, RunTask } from './task.js'

/** Progress is told at most so often (ms). */
const OFTEN = 200

let last = 0
serve<RunTask, RunAnswer, number>((task, report) =>
  runOnce(task, share => {
    if (performance.now() - last < OFTEN) return
    last = performance.now()
    report(share)
  }),
)
