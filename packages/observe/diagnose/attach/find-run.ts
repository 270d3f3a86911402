/**
 * Finds a run from the number of a process: the trainer's, or that of the engine whose workers feed it. In Node both are one
 * process; Python's engine has one of its own. Only /proc is read.
 */
import { MillraceError } from '../../../core/basics/errors.js'
import { type AttachedSpans, attachSpans, spanWriters } from '../../../core/spans/attach.js'
import type { RingInfo } from '../../../core/spans/reader.js'
import type { SpanSource } from '../../account/source.js'

/** A run in other processes. */
export interface FoundRun {
  trainer: { pid: number; spans: AttachedSpans; ring: RingInfo }
  engine: { pid: number; spans: AttachedSpans; ring: number }
  close(): void
}

/** The run of a process. `wanted` is the name or the number of a ring, where there are several. */
export function findRun(pid: number, wanted?: string): FoundRun {
  const spans = attachTo(pid)
  try {
    const ring = choose(pid, spans.rings(), wanted)
    if (ring.engine !== pid) return withEngine(pid, spans, ring)
    const trainer = trainerOf(pid, ring.ring)
    if (trainer === undefined) return run({ pid, spans, ring }, { pid, spans, ring: ring.ring })
    return run(trainer, { pid, spans, ring: ring.ring })
  } catch (error) {
    spans.close()
    throw error
  }
}

/** The run of a ring that the process `pid` takes batches from. Its spans are the run's from now on. */
export function runOf(pid: number, spans: AttachedSpans, ring: RingInfo): FoundRun {
  try {
    if (ring.engine !== pid) return withEngine(pid, spans, ring)
    return run({ pid, spans, ring }, { pid, spans, ring: ring.ring })
  } catch (error) {
    spans.close()
    throw error
  }
}

export function sourceOfRun({ trainer, engine }: FoundRun): SpanSource {
  return {
    trainer: { reader: trainer.spans, ring: trainer.ring.ring },
    engine: { reader: engine.spans, ring: engine.ring },
  }
}

/** Throws where a process is gone. */
export function checkAlive(pid: number, what: string): void {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return
    throw new MillraceError(`${what} (process ${pid}) has ended while it was looked at`)
  }
}

function attachTo(pid: number): AttachedSpans {
  try {
    process.kill(pid, 0)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EPERM')
      throw new MillraceError(`process ${pid} is another user's: run this as that user, or as root`)
    throw new MillraceError(`there is no process ${pid}`)
  }
  try {
    return attachSpans(pid)
  } catch (error) {
    if (/version/.test((error as Error).message)) throw error
    const others = [...new Set(spanWriters().map(writer => writer.pid))]
    const known = others.length === 0 ? 'no process on this machine does' : `these do: ${others.join(', ')}`
    throw new MillraceError(
      `process ${pid} has no feed of Millrace open, or writes no spans (MILLRACE_SPANS=0): ${known}`,
    )
  }
}

function choose(pid: number, rings: readonly RingInfo[], wanted: string | undefined): RingInfo {
  const open = rings.filter(ring => ring.open)
  const list = open.map(({ ring, name, rank, world }) => `${ring} (${name}, rank ${rank} of ${world})`)
  if (wanted !== undefined) {
    const found = open.filter(({ ring, name }) => String(ring) === wanted || name === wanted)
    if (found.length === 1) return found[0]
    const which = found.length === 0 ? 'no open feed' : `${found.length} open feeds`
    throw new MillraceError(
      `process ${pid} has ${which} "${wanted}": --ring wants one of ${list.join(', ') || 'none'}`,
    )
  }
  if (open.length === 1) return open[0]
  if (open.length === 0) throw new MillraceError(`process ${pid} has no feed open at present`)
  throw new MillraceError(
    `process ${pid} has ${open.length} feeds open: choose one by --ring: ${list.join(', ')}`,
  )
}

/** The trainer in another process that takes the batches of an engine's ring. */
function trainerOf(engine: number, engineRing: number): FoundRun['trainer'] | undefined {
  for (const writer of spanWriters()) {
    if (writer.pid === engine) continue
    try {
      const spans = attachSpans(writer.path)
      const ring = spans
        .rings()
        .find(one => one.open && one.engine === engine && one.engineRing === engineRing)
      if (ring !== undefined) return { pid: writer.pid, spans, ring }
      spans.close()
    } catch {
      // It has ended meanwhile, or is another version's.
    }
  }
  return undefined
}

function withEngine(pid: number, spans: AttachedSpans, ring: RingInfo): FoundRun {
  let engine: AttachedSpans
  try {
    engine = attachSpans(ring.engine)
  } catch {
    throw new MillraceError(
      `the engine (process ${ring.engine}) of process ${pid} has ended, is another user's, or writes no spans`,
    )
  }
  return run({ pid, spans, ring }, { pid: ring.engine, spans: engine, ring: ring.engineRing })
}

/** Looks at each process on this machine that writes spans, once. They are let go of afterwards. */
export function lookAtWriters(look: (spans: AttachedSpans, pid: number, path: string) => void): void {
  const looked = new Set<number>()
  for (const { pid, path } of spanWriters()) {
    if (looked.has(pid)) continue
    looked.add(pid)
    try {
      using spans = attachSpans(path)
      look(spans, pid, path)
    } catch {
      // It has ended meanwhile, or is another version's.
    }
  }
}

/** Whether batches are taken from a ring in this process: an engine has the rings of other processes, too. */
export function hasConsumer(spans: AttachedSpans, ring: number): boolean {
  return spans.counters(ring).some(({ lane }) => lane.kind === 'consumer')
}

function run(trainer: FoundRun['trainer'], engine: FoundRun['engine']): FoundRun {
  const close = (): void => {
    trainer.spans.close()
    if (engine.spans !== trainer.spans) engine.spans.close()
  }
  return { trainer, engine, close }
}
