/** Watching a loader's own run: for its log, and for programs that listen. Nothing is loaded where none is wanted. */
import type { Watched } from '../../../observe/live/watcher.js'
import type { LogHeader } from '../../../observe/log/lines.js'
import { SpanFile } from '../../spans/file.js'
import type { Supply } from '../node/supply.js'
import type { OpenedOptions } from '../options.js'
import type { Listener, LiveFeed } from './feed.js'

export type { Watched }

/** What a loader tells of itself. */
export interface WatchedLoader {
  supply: Supply
  options: OpenedOptions
  hashes: LogHeader['hashes']
  /** Batches handed out since the ring was last moved. */
  handed: () => number
  bad: () => number
}

export class Watching {
  private live: LiveFeed | undefined
  private closed = false

  /** Begins with the log that the options want. Throws where that can't be. */
  async start(of: WatchedLoader): Promise<void> {
    if (of.options.log === undefined) return
    try {
      await this.open(of)
    } catch (error) {
      await of.supply.close()
      throw error
    }
  }

  /** Calls the listener once a second, until it is told to stop, or the loader is closed. */
  async listen(of: WatchedLoader, listener: Listener, idealMs?: number): Promise<() => void> {
    const live = this.live ?? (await this.open(of))
    return live.listen(listener, idealMs)
  }

  /** The file of the run log. */
  get logFile(): string | undefined {
    return this.live?.logFile
  }

  close(): void {
    this.closed = true
    this.live?.close('the feed was closed')
    this.live = undefined
  }

  private async open({ supply, options, hashes, handed, bad }: WatchedLoader): Promise<LiveFeed> {
    const { LiveFeed } = await import('./feed.js')
    const ring = supply.feeding.id
    const live = new LiveFeed({
      ...{ ring, trainer: process.pid, options, hashes, bad },
      ...(options.device === undefined && { gpu: false as const }),
      ...{ log: options.log, cache: () => supply.feeding.cacheStats },
      feed:
        SpanFile.shared()
          ?.reader.rings()
          .find(one => one.ring === ring)?.name ?? 'feed',
      slots: () => supply.feeding.ring.slotsInUse(handed()),
    })
    // Two may have asked at once, or the loader was closed meanwhile.
    if (this.live !== undefined || this.closed) live.close('the feed was closed')
    this.live ??= live
    return this.live
  }
}
