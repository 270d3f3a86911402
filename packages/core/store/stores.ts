/**
 * Finds the store of a name by its scheme: `s3://bucket/key` is served by the store that was added for `s3`; a name without a
 * scheme is a local file. A maker has one `Stores` for each ring, which makes a store when it is first asked for.
 */
import { SourceError } from '../basics/errors.js'
import { FileStore, type FileStoreOptions } from './file.js'
import type { Store, StoreKind } from './store.js'

/** Two letters at least: `C://` is a drive. */
const SCHEME = /^([a-z][a-z0-9+.-]+):\/\//
const SLASH = 0x2f

/** Of this thread, by scheme. */
const kinds = new Map<string, StoreKind>()

/** Has a scheme served, in this thread. */
export function addStore(scheme: string, kind: StoreKind): void {
  checkScheme(scheme, kind)
  kinds.set(scheme, kind)
}

/** Throws where a scheme can't be served so. */
export function checkScheme(scheme: string, kind: StoreKind): void {
  if (!SCHEME.test(`${scheme}://`) || scheme === 'file') {
    throw new SourceError(
      `"${scheme}" can't be the scheme of a store: two or more of a–z, 0–9, "+", "." and "-", beginning with a letter, and not "file"`,
    )
  }
  const known = kinds.get(scheme)
  if (known !== undefined && known !== kind) {
    throw new SourceError(`there are two stores for ${scheme}://: leave one of the plugins out`)
  }
}

/** The scheme of a name; undefined for a path. */
export function schemeOf(name: string): string | undefined {
  return name.charCodeAt(0) === SLASH ? undefined : SCHEME.exec(name)?.[1]
}

export class Stores {
  private readonly files: FileStore
  private readonly others = new Map<string, Store>()
  private readonly ending = new AbortController()

  constructor(options: FileStoreOptions = {}) {
    this.files = new FileStore(options)
  }

  /** For reads: they are not wanted any more once this is closed, and none begins. */
  get signal(): AbortSignal {
    return this.ending.signal
  }

  /** The store that holds an object. */
  of(name: string): Store {
    const scheme = schemeOf(name)
    if (scheme === undefined) return this.files
    let store = this.others.get(scheme)
    if (store === undefined) {
      store = kindOf(scheme, name).attach()
      const problem = storeProblem(store)
      if (problem !== undefined)
        throw new SourceError(`the store for ${scheme}://: what attach returned ${problem}`, { file: name })
      this.others.set(scheme, store)
    }
    return store
  }

  close(): void {
    this.ending.abort()
    this.files.close()
    for (const store of this.others.values()) store.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** What is wrong with a store of a plugin's; undefined: nothing. */
function storeProblem(store: Store | undefined): string | undefined {
  if (typeof store !== 'object' || store === null) return 'is no store'
  const missing = (['stat', 'read', 'close'] as const).find(name => typeof store[name] !== 'function')
  if (missing !== undefined) return `has no function ${missing}`
  if (!(store.merge?.gap >= 0 && store.merge.most >= 0)) return 'has no merge: { gap, most }, in bytes'
  return undefined
}

function kindOf(scheme: string, name: string): StoreKind {
  const kind = kinds.get(scheme)
  if (kind !== undefined) return kind
  const others = [...kinds.keys()].map(known => `, ${known}://`).join('')
  throw new SourceError(
    `${name}: there is no store for ${scheme}://. There are: local files${others}. Download the data, or name the plugin ` +
      'that has the store: plugins: [url] in open() of Node, --plugin URL on the command line, plugins=[…] in Python',
    { file: name },
  )
}
