/**
 * The journal of a pack: a hidden file beside the shards, one JSON line for the plan and one for each finished
 * shard. A killed pack is continued from it; when the pack is done its contents move into the shard list.
 */
import { appendFileSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../../../core/system/files/draft.js'
import { readRegular } from '../../../core/system/files/regular.js'
import type { PackedShard } from './shard.js'

export class Journal {
  private readonly path: string

  constructor(
    private readonly out: string,
    prefix: string,
  ) {
    this.path = join(out, `.${prefix}.pack`)
  }

  /** The plan that was begun here, if one was. */
  plan(): string | undefined {
    return this.lines()[0]?.plan
  }

  /** Shards that the journal knows and that still have the size it says. */
  finished(): PackedShard[] {
    return this.lines()
      .slice(1)
      .flatMap(line => (line.shard !== undefined && hasSize(this.out, line.shard) ? [line.shard] : []))
  }

  begin(plan: string): void {
    writeWhole(this.path, `${JSON.stringify({ plan })}\n`)
  }

  add(shard: PackedShard): void {
    appendFileSync(this.path, `${JSON.stringify({ shard })}\n`)
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }

  private lines(): { plan?: string; shard?: PackedShard }[] {
    if (!existsSync(this.path)) return []
    return readRegular(this.path)
      .split('\n')
      .flatMap(line => {
        try {
          return [JSON.parse(line)]
        } catch {
          return [] // the last line of a killed process, or the empty one at the end
        }
      })
  }
}

export function hasSize(out: string, shard: PackedShard): boolean {
  return statSync(join(out, shard.name), { throwIfNoEntry: false })?.size === shard.bytes
}
