/** Which rank this process is, by what started it: torchrun, Slurm, Open MPI, Kubernetes, or no launcher. */
import { DefinitionError } from '../basics/errors.js'

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
  const { rank, world } = given
  if (rank !== undefined && world !== undefined) return checked({ rank, world, from: 'given' })
  if (rank !== undefined)
    throw new DefinitionError(
      'world',
      `rank ${rank} of how many? Give world as well: the number of all ranks`,
    )
  if (world !== undefined)
    throw new DefinitionError('rank', `which one of world ${world}? Give rank as well, counted from 0`)
  const found = launched(env)
  const reported = env.WORLD_SIZE ?? '1'
  if (env.RANK === undefined && reported !== '1' && reported !== String(found.world))
    throw new DefinitionError(
      'rank',
      `WORLD_SIZE=${reported} says that there are several ranks, and nothing says which one this is: there is no RANK ` +
        '(LOCAL_RANK counts on one host alone). Set RANK, or give rank and world',
    )
  return found
}

function launched(env: NodeJS.ProcessEnv): RankOf {
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

/**
 * Which variables of the environment tell a process its rank. Python's copy (python/millrace/_generated/) is generated from
 * this file: npm run generate.
 */

/** Launchers, in the order in which they are asked: their names, and their variables of rank and of world. */
export const LAUNCHERS: readonly { name: string; rank: string; world: string }[] = [
  { name: 'torchrun', rank: 'RANK', world: 'WORLD_SIZE' },
  { name: 'Open MPI', rank: 'OMPI_COMM_WORLD_RANK', world: 'OMPI_COMM_WORLD_SIZE' },
  // Set within a step (srun) alone: a script of sbatch has SLURM_PROCID=0 and SLURM_NTASKS, and is one process all the same.
  { name: 'Slurm', rank: 'SLURM_PROCID', world: 'SLURM_STEP_NUM_TASKS' },
  // An indexed job's size is not in the environment unless its author puts it there.
  { name: 'Kubernetes', rank: 'JOB_COMPLETION_INDEX', world: 'JOB_COMPLETIONS' },
]
