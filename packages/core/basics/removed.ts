/**
 * Options that are gone. For one release they are accepted all the same: they have no effect, and a notice says what to do
 * instead. The command line, Node and Python (by scripts/generate.mjs) look here.
 */
interface Removed {
  /** As Node spells it; `--max-depth` and `max_depth` are made from it. */
  name: string
  /** Verbs and functions that took it; `open` is Python's Feed, too. */
  of: readonly string[]
  /** On the command line a value follows it. */
  valued?: true
  instead: string
}

const PROMETHEUS = 'let Prometheus watch prometheus(), or read the run log (option log)'

export const REMOVED: readonly Removed[] = [
  { name: 'alerts', of: ['open'], instead: PROMETHEUS },
  {
    name: 'apply',
    of: ['diagnose'],
    instead:
      'the remedies name their option, and the tuner (tune: "all") tries and keeps such settings by itself',
  },
  {
    name: 'control',
    of: ['dashboard', 'diagnose'],
    instead:
      "the engine's own tuner sets workers and depth; from within the trainer, loader.tune() and feed.tune() do",
  },
  { name: 'alert', of: ['run', 'dashboard'], valued: true, instead: PROMETHEUS },
  {
    name: 'full',
    of: ['bench'],
    instead: 'one setting is varied after the other, each at the best found before',
  },
  {
    name: 'failIf',
    of: ['bench'],
    valued: true,
    instead: 'let CI look at the changes that millrace bench --baseline FILE --json prints',
  },
  { name: 'maxDepth', of: ['open'], instead: 'the depth can be raised to 32, as far as memory allows' },
  { name: 'nvcomp', of: ['open'], instead: 'the device says whether it has nvCOMP' },
  { name: 'cpuShare', of: ['open'], instead: 'with decode: "auto" the tuner finds who decodes' },
]

/** The level of `observe` that is gone. */
export const FULL = {
  name: 'full',
  notice: 'observe "full" has no effect any more: "spans" is the most that is written down',
}

/** Those that a verb or function took. */
export function removedOf(taker: string): readonly Removed[] {
  return REMOVED.filter(({ of }) => of.includes(taker))
}

/** Tells of each removed option that was given to a function; by a warning, where nobody else is told. */
export function noticeRemoved(taker: string, given: object, notice = warn): void {
  for (const one of removedOf(taker)) if (one.name in given) notice(removedText(one.name, one))
}

function warn(text: string): void {
  process.emitWarning(text, 'MillraceNotice')
}

/** What the notice says of one that was given as `given`. */
export function removedText(given: string, { instead }: Removed): string {
  return `${given} has no effect any more: ${instead}`
}
