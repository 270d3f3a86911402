/** Which rank this process is, by what started it: torchrun, Slurm, Open MPI, Kubernetes, or no launcher. */
import { DefinitionError } from '../basics/errors.js'
import { LAUNCHERS } from './launcher-facts.js'

export interface RankOf {
  rank: number
  world: number
  /** Who said so, for the start-up line. */
  from: string
}

/** The rank given, or the launcher's, or 0 of 1. */
export function rankOf(
  given: { rank?: number; world?: number },
  env: NodeJS.ProcessEnv = process.env,
): RankOf {
  if (given.rank !== undefined || given.world !== undefined) {
    return checked({ rank: given.rank ?? 0, world: given.world ?? 1, from: 'given' })
  }
  for (const { name, rank, world } of LAUNCHERS) {
    if (env[rank] === undefined || env[world] === undefined) continue
    return checked({
      rank: Number(env[rank]),
      world: Number(env[world]),
      from: `${name} (${rank}, ${world})`,
    })
  }
  return { rank: 0, world: 1, from: 'alone' }
}

function checked(found: RankOf): RankOf {
  const { rank, world, from } = found
  if (!Number.isInteger(world) || world < 1) {
    throw new DefinitionError('world', `${world} is not a number of ranks (${from}): give at least 1`)
  }
  if (!Number.isInteger(rank) || rank < 0 || rank >= world) {
    throw new DefinitionError(
      'rank',
      `rank ${rank} is not one of ${world} ranks (${from}): they count from 0`,
    )
  }
  return found
}
