/** The verbs, each loaded only when it is called. Adding one means one file and one line here. */
import type { Verbs } from './command.js'

export const VERBS: Verbs = {
  demo: async () => (await import('./verbs/demo.js')).demo,
  run: async () => (await import('./verbs/run.js')).run,
  bench: async () => (await import('./verbs/bench.js')).bench,
  compare: async () => (await import('./verbs/compare.js')).compare,
  diagnose: async () => (await import('./verbs/diagnose.js')).diagnose,
  dashboard: async () => (await import('./verbs/dashboard.js')).dashboard,
  serve: async () => (await import('./verbs/serve.js')).serve,
  pack: async () => (await import('./verbs/pack.js')).pack,
  tokenize: async () => (await import('./verbs/tokenize.js')).tokenize,
  index: async () => (await import('./verbs/index.js')).index,
  inspect: async () => (await import('./verbs/inspect.js')).inspect,
  verify: async () => (await import('./verbs/verify.js')).verify,
  tokens: async () => (await import('./verbs/tokens.js')).tokens,
  plan: async () => (await import('./verbs/plan.js')).plan,
  probe: async () => (await import('./verbs/probe.js')).probe,
  trace: async () => (await import('./verbs/trace.js')).trace,
  doctor: async () => (await import('./verbs/doctor.js')).doctor,
}

/** Verbs of before, and what does their work now. */
export const REMOVED_VERBS: Readonly<Record<string, string>> = {
  'order-quality': '`millrace inspect FEED` says how well the order of a feed mixes',
}
