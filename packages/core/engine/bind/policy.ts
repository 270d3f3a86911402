/** The option `affinity`: on which cores workers run. */
import { DefinitionError } from '../../basics/errors.js'
import { parseCores, showCores } from '../../system/process/core-list.js'
import { allowedCores } from '../../system/process/topology.js'

/** As it is given: cores as a list, or as Linux writes them ("2-7,10"). */
export type Affinity = 'off' | 'auto' | (string & {}) | readonly number[]

/** The same, read. */
export type Binding = 'off' | 'auto' | readonly number[]

/** Throws DefinitionError where it says nothing, or names cores that this process may not use. */
export function readAffinity(given: unknown, allowed: () => number[] = allowedCores): Binding {
  if (given === 'off' || given === 'auto') return given
  const cores = typeof given === 'string' ? parseCores(given) : given
  if (
    !Array.isArray(cores) ||
    cores.length === 0 ||
    !cores.every(core => Number.isInteger(core) && core >= 0)
  )
    throw new DefinitionError(
      'options.affinity',
      `expected "off", "auto" or cores such as "2-7,10" or [2, 3], not ${JSON.stringify(given)}`,
    )
  const usable = allowed()
  const wrong = cores.filter(core => !usable.includes(core))
  if (wrong.length > 0)
    throw new DefinitionError(
      'options.affinity',
      `this process may not use ${wrong.length === 1 ? 'core' : 'cores'} ${showCores(wrong)}; it may use ${showCores(usable)} ` +
        '(its affinity mask, and the cpuset of its control group). Name some of these, or start it with other cores',
    )
  return [...new Set(cores)]
}

/** A binding in words, for messages: as it would be given. */
export function showBinding(binding: Binding): string {
  return `"${typeof binding === 'string' ? binding : showCores(binding)}"`
}
