/**
 * A store that is far away: `slow://a/b` is the file a/b of a folder. Each request waits for its first byte, its bytes come
 * at a rate, answers come in random order, and some requests fail. It has nothing at hand (no readNow). Plain JavaScript, so
 * that worker threads can load it.
 */
import { writeFileSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A failure that may be gone when the same is asked again. */
export class Unavailable extends Error {
  code = 'EUNAVAILABLE'
  constructor(what) {
    super(`503 the store is busy (${what})`)
  }
}

export class SlowStore {
  /** Latency × rate: so many bytes cost as much as another request. */
  merge
  counts = { reads: 0, bytes: 0, inFlight: 0, mostInFlight: 0, failures: 0 }

  constructor({ folder, scheme = 'slow', latency = 30, rate = 50e6, errors = 0.01 }) {
    Object.assign(this, { folder, prefix: `${scheme}://`, latency, rate, errors })
    const gap = Math.round((latency / 1000) * rate)
    this.merge = { gap, most: Math.max(8 << 20, 4 * gap) }
  }

  async stat(name) {
    return this.request('stat', 0, async () => described(await stat(this.path(name))))
  }

  /** A page of names costs one request. */
  async *list(prefix) {
    const folder = this.path(prefix.slice(0, prefix.lastIndexOf('/') + 1))
    const entries = await this.request('list', 0, () =>
      readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []),
    )
    const files = entries.filter(entry => entry.isFile())
    for (const entry of files.sort(() => Math.random() - 0.5)) {
      const path = join(entry.parentPath, entry.name)
      const name = this.prefix + path.slice(this.folder.length + 1)
      if (name.startsWith(prefix)) yield { name, ...described(await stat(path)) }
    }
  }

  async read(name, offset, into, { was, signal } = {}) {
    this.counts.bytes += into.length
    await this.request('read', into.length, async () => {
      signal?.throwIfAborted()
      const handle = await open(this.path(name))
      try {
        const { version } = described(await handle.stat())
        if (was !== undefined && version !== was) {
          throw Object.assign(new Error(`its version is ${version}, it was ${was}`), { code: 'ESTALE' })
        }
        const got = Buffer.alloc(into.length)
        const { bytesRead } = await handle.read(got, 0, got.length, offset)
        if (bytesRead < into.length) throw new Error(`it ends at byte ${offset + bytesRead}`)
        return got
      } finally {
        await handle.close()
      }
    }).then(got => into.set(got)) // at the very end, as bytes come from a network
    // One that failed by chance is asked again, and is not counted twice.
    this.counts.reads++
  }

  close() {}

  path(name) {
    return join(this.folder, name.slice(this.prefix.length))
  }

  async request(what, bytes, answer) {
    const { counts } = this
    counts.mostInFlight = Math.max(counts.mostInFlight, ++counts.inFlight)
    try {
      await sleep(this.latency * (0.5 + Math.random()) + (bytes / this.rate) * 1000)
      if (Math.random() < this.errors) {
        counts.failures++
        throw new Unavailable(what)
      }
      return await answer()
    } finally {
      counts.inFlight--
    }
  }
}

function described({ size, mtimeMs, ino }) {
  return { bytes: size, version: `${size}-${mtimeMs}-${ino}` }
}

/** Asks again where an answer failed and may come: a store around a store. */
export function retried(store, times = 5) {
  const again = async ask => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof Unavailable) || attempt === times) throw error
      }
    }
  }
  return {
    merge: store.merge,
    stat: name => again(() => store.stat(name)),
    async *list(prefix) {
      yield* await again(async () => {
        const found = []
        for await (const object of store.list(prefix)) found.push(object)
        return found
      })
    },
    read: (name, offset, into, how) => again(() => store.read(name, offset, into, how)),
    close: () => store.close(),
  }
}

/** A kind of store, as `addStore` and plugins take it. */
export function slowStore(options) {
  return { attach: () => retried(new SlowStore(options)) }
}

/** Writes a plugin's module that serves `slow://` by such a store. Gives its path. */
export function writeSlowPlugin(path, options) {
  const made = `slowStore(${JSON.stringify(options)})`
  writeFileSync(
    path,
    `import { slowStore } from ${JSON.stringify(import.meta.filename)}\nexport default { stores: { slow: ${made} } }\n`,
  )
  return path
}
