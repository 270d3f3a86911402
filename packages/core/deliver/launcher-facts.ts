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
