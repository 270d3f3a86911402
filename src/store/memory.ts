/** Objects held in memory, as a store: for tests and for data that a program makes itself. */
import { SourceError } from '../basics/errors.js'
import { type LocalStore, tooShort } from './store.js'

export class MemoryStore implements LocalStore {
  private readonly objects: Map<string, Uint8Array>

  constructor(objects: Record<string, Uint8Array> | Iterable<readonly [string, Uint8Array]> = {}) {
    this.objects = new Map(Symbol.iterator in objects ? objects : Object.entries(objects))
  }

  put(name: string, bytes: Uint8Array): void {
    this.objects.set(name, bytes)
  }

  sizeSync(name: string): number {
    return this.object(name).length
  }

  readSync(name: string, offset: number, into: Uint8Array): void {
    const bytes = this.object(name).subarray(offset, offset + into.length)
    if (bytes.length < into.length) throw tooShort(name, offset, into.length, bytes.length)
    into.set(bytes)
  }

  async size(name: string): Promise<number> {
    return this.sizeSync(name)
  }

  async read(name: string, offset: number, into: Uint8Array, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    this.readSync(name, offset, into)
  }

  ahead(): void {}

  close(): void {}

  private object(name: string): Uint8Array {
    const bytes = this.objects.get(name)
    if (bytes !== undefined) return bytes
    throw new SourceError(`${name}: there is no such object in memory: put it there first`, { file: name })
  }
}
