/**
 * Flags of Node for our threads. By default a thread gets all flags of the program, and some end it, such as those of
 * `node --input-type=module -e …`. Kept are those that say how modules are found and read: threads import the user's
 * functions.
 */
const KEPT = [
  ...['--import', '--require', '-r', '--loader', '--experimental-loader', '--conditions', '-C'],
  ...['--experimental-strip-types', '--experimental-transform-types', '--enable-source-maps'],
  ...['--preserve-symlinks', '--no-warnings'],
]
/** Those whose value may be a word of its own. */
const WITH_VALUE = new Set(KEPT.slice(0, 7))

export function threadFlags(flags: readonly string[] = process.execArgv): string[] {
  const kept: string[] = []
  for (let i = 0; i < flags.length; i++) {
    const name = flags[i].split('=', 1)[0]
    if (!KEPT.includes(name)) continue
    kept.push(flags[i])
    if (WITH_VALUE.has(name) && !flags[i].includes('=') && i + 1 < flags.length) kept.push(flags[++i])
  }
  return kept
}
