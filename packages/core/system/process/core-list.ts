/** Lists of cores as Linux writes them: `0-3,8`. */

/** The cores of a list, as they are written. Null: it is none. */
export function parseCores(text: string): number[] | null {
  const cores: number[] = []
  for (const run of text.trim().split(',')) {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(run.trim()) ?? []
    if (first === undefined || Number(last) < Number(first)) return null
    for (let core = Number(first); core <= Number(last); core++) cores.push(core)
  }
  return cores
}

/** The list that says these cores: each once, in ascending order. */
export function showCores(cores: Iterable<number>): string {
  const runs: [first: number, last: number][] = []
  for (const core of [...new Set(cores)].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run !== undefined && run[1] === core - 1) run[1] = core
    else runs.push([core, core])
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}
