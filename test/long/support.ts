/** What the long tests share: seeds from the environment, and Python with the reference readers. */
import { spawnSync } from 'node:child_process'

/** Where random choices begin. A failure names its own seed: with `LONG_SEED` it comes first. */
export const SEED = Number(process.env.LONG_SEED ?? 1)

/** So many times as many cases as usual. */
export const RUNS = Number(process.env.LONG_RUNS ?? 1)

/** Whether python3 has these packages; says what is skipped where it has not. */
export function pythonHas(packages: readonly string[], what: string): boolean {
  const code = `import importlib.util; print(*[n for n in ${JSON.stringify(packages)} if not importlib.util.find_spec(n)])`
  const { status, stdout } = spawnSync('python3', ['-c', code], { encoding: 'utf8' })
  const lacking = status === 0 ? stdout.trim() : 'all, there is no python3'
  if (lacking !== '')
    console.warn(`${what} are skipped: they need python3 with ${packages.join(', ')}; lacking: ${lacking}`)
  return lacking === ''
}
