/** A run in other processes, watched second by second: what the dashboard shows. It only reads. */
import { RunWatcher, type WatcherOptions } from '../../observe/live/watcher.js'
import { type FoundRun, sourceOfRun } from './find-run.js'

/** The watcher of a run that was found. It begins with what is still there of its last seconds. */
export function watchFound(
  found: FoundRun,
  options: Partial<Omit<WatcherOptions, 'trainer' | 'engine'>> = {},
): RunWatcher {
  const pids = { trainer: found.trainer.pid, engine: found.engine.pid }
  return new RunWatcher(sourceOfRun(found), { past: true, ...options, ...pids })
}
