import type { Store, StoreKind } from '../../packages/core/store/store.js'

export interface SlowOptions {
  folder: string
  scheme?: string
  /** Milliseconds to the first byte. */
  latency?: number
  /** Bytes a second of one request. */
  rate?: number
  /** The share of requests that fail. */
  errors?: number
}

export class Unavailable extends Error {}

export class SlowStore implements Store {
  constructor(options: SlowOptions)
  readonly counts: { reads: number; bytes: number; inFlight: number; mostInFlight: number; failures: number }
  readonly merge: Store['merge']
  stat: Store['stat']
  list: NonNullable<Store['list']>
  read: Store['read']
  close(): void
}

export function retried(store: Store, times?: number): Store
export function slowStore(options: SlowOptions): StoreKind

export function writeSlowPlugin(path: string, options: SlowOptions): string
