/** The other ranks of a run that are on this machine: they may be rings of one process, or of several. */
import { attachSpans } from '../../../core/spans/attach.js'
import type { RingInfo } from '../../../core/spans/reader.js'
import { readText } from '../../../core/system/process/cgroup.js'
import { parseProcessStat } from '../../host/parse.js'
import { type FoundRun, hasConsumer, lookAtWriters, runOf } from './find-run.js'

interface Candidate {
  pid: number
  path: string
  ring: RingInfo
}

/** Where it can't be told which of several runs a rank belongs to, it is left out. */
export function otherRanks({ trainer: { ring: mine, pid } }: FoundRun): FoundRun[] {
  if (mine.world < 2) return []
  const all = candidates(mine).filter(one => one.pid !== pid || one.ring.ring !== mine.ring)
  // A rank that is there twice: another run has the same feed.
  const ranks = [mine.rank, ...all.map(({ ring }) => ring.rank)]
  const several = new Set(ranks).size < ranks.length
  const own = several ? all.filter(one => sameRun(one.pid, pid)) : all
  const found: FoundRun[] = []
  for (const rank of new Set(own.map(({ ring }) => ring.rank))) {
    const [one, ...more] = own.filter(({ ring }) => ring.rank === rank)
    if (rank === mine.rank || more.length > 0) continue
    try {
      found.push(runOf(one.pid, attachSpans(one.path), one.ring))
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}

/** Open rings of the same feed and number of ranks that batches are taken from. */
function candidates(mine: RingInfo): Candidate[] {
  const found: Candidate[] = []
  lookAtWriters((spans, pid, path) => {
    for (const ring of spans.rings())
      if (ring.open && ring.name === mine.name && ring.world === mine.world && hasConsumer(spans, ring.ring))
        found.push({ pid, path, ring })
  })
  return found
}

/** Whether two processes are of one run: launchers tell all of its ranks the same meeting place, or have started them all. */
function sameRun(a: number, b: number): boolean {
  if (a === b) return true
  const [x, y] = [meetingPlace(a), meetingPlace(b)]
  if (x !== '' && y !== '') return x === y
  const [parent, other] = [a, b].map(
    pid => parseProcessStat(readText('/', `/proc/${pid}/stat`) ?? '')?.parent,
  )
  return parent !== undefined && parent === other
}

function meetingPlace(pid: number): string {
  const words = (readText('/', `/proc/${pid}/environ`) ?? '').split('\0')
  return words
    .filter(word => /^(MASTER_ADDR|MASTER_PORT|SLURM_JOB_ID|SLURM_STEP_ID)=/.test(word))
    .sort()
    .join()
}
