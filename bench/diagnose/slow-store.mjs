// A store of a plugin over local files, `lake:///path`, that is as slow as a case says: so many bytes a second for all threads of
// the process together, so many milliseconds until a read begins to answer, so many until an object is found.
import { close, openSync, readSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

/** When the line to the storage is free again, µs of the process's clock: one for all threads. */
const LINE = 'millrace-exam-line'
if (isMainThread) setEnvironmentData(LINE, new BigInt64Array(new SharedArrayBuffer(8)))

const micros = () => process.hrtime.bigint() / 1000n

export function slowStore({ bytesPerSecond, latencyMs = 0, openMs = 0 }) {
  const pathOf = url => new URL(url).pathname
  const versionOf = ({ size, mtimeMs }) => `${size}-${mtimeMs}`
  return {
    attach() {
      const line = getEnvironmentData(LINE)
      const files = new Map()
      /** µs until these bytes are through. */
      const passage = bytes => {
        if (bytesPerSecond === undefined) return 0
        const takes = BigInt(Math.round((bytes / bytesPerSecond) * 1e6))
        for (;;) {
          const free = Atomics.load(line, 0)
          const now = micros()
          const queued = free - now
          const done = queued > 0n ? free + takes : now + takes
          if (Atomics.compareExchange(line, 0, free, done) === free) return Number(done - now)
        }
      }
      return {
        merge: { gap: 0, most: 1_000_000 },
        async stat(url) {
          if (openMs > 0 && isMainThread) await sleep(openMs)
          const { size, mtimeMs } = statSync(pathOf(url))
          return { bytes: size, version: versionOf({ size, mtimeMs }) }
        },
        async read(url, offset, into) {
          if (into.length === 0) return
          const wait = latencyMs + passage(into.length) / 1000
          if (wait >= 0.5) await sleep(Math.max(1, Math.round(wait)))
          if (!files.has(url)) files.set(url, openSync(pathOf(url), 'r'))
          readSync(files.get(url), into, 0, into.length, offset)
        },
        close() {
          for (const file of files.values()) close(file)
          files.clear()
        },
      }
    },
  }
}
