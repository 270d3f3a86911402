/**
 * The journal of a run: a file among the parts, one JSON line for what is tokenised and how, and one for each finished part. A run
 * that was stopped is continued from it by the same command.
 */
import { appendFileSync, existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SourceError } from '../../../core/basics/errors.js'
import { writeWhole } from '../../../core/system/files/draft.js'
import { makeFolder } from '../../../core/system/files/folder.js'
import { readRegular } from '../../../core/system/files/regular.js'
import { isThere, type Part, type PartDtype } from './parts.js'

/** All that decides the parts, in words that a message can show. */
export type Facts = Readonly<Record<string, string>>

/** Names of what we put into the folder. */
const OURS = /^(journal|\d+\.part|\d+\.bucket|\.millrace-draft-.*)$/

interface Line {
  facts?: Facts
  format?: string
  part?: Part
}

export class Journal {
  private readonly path: string

  constructor(
    readonly folder: string,
    /** Of the outputs. It decides no part, but which files the run may replace. */
    private readonly format: string,
  ) {
    this.path = join(folder, 'journal')
  }

  /** A run was stopped that has outputs of the same names. */
  get begun(): boolean {
    const [first] = this.lines()
    return first?.facts !== undefined && first.format === this.format
  }

  /** The finished parts of a run with these facts. Another run's are in the way: the error says what differs. */
  resume(facts: Facts, dtype: PartDtype): Part[] {
    const [first, ...rest] = this.lines()
    if (first?.facts === undefined) return this.begin(facts)
    const was = first.facts
    const differ = [...new Set([...Object.keys(was), ...Object.keys(facts)])].filter(
      name => was[name] !== facts[name],
    )
    // A run that failed at once, such as one with a wrong --key, has nothing that could be lost or mixed up.
    if (differ.length > 0 && rest.every(({ part }) => part === undefined)) return this.begin(facts)
    if (differ.length > 0) {
      const how = differ.map(name => `${name}: ${was[name] ?? 'none'} then, ${facts[name] ?? 'none'} now`)
      throw new SourceError(
        `${this.folder} has parts of a run that was another: ${how.join('; ')}. ` +
          'Give the same command as then to go on with it, --restart to begin anew, or another --out',
        { file: this.folder },
      )
    }
    const parts = new Map<number, Part>()
    for (const { part } of rest) if (part !== undefined) parts.set(part.number, part)
    const believed = [...parts.values()].filter(part => isThere(this.folder, part, dtype))
    // Written anew: its last line may be a torn one.
    this.write([{ facts, format: this.format }, ...believed.map(part => ({ part }))])
    return believed
  }

  /** Begins anew: nothing of another run stays. */
  begin(facts: Facts): Part[] {
    this.remove()
    makeFolder(this.folder)
    this.write([{ facts, format: this.format }])
    return []
  }

  add(part: Part): void {
    appendFileSync(this.path, `${JSON.stringify({ part } satisfies Line)}\n`)
  }

  /** Removes it and all parts, and the folder if nothing else is in it. */
  remove(): void {
    if (!existsSync(this.folder)) return
    for (const name of readdirSync(this.folder))
      if (OURS.test(name)) rmSync(join(this.folder, name), { force: true })
    try {
      rmdirSync(this.folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    }
  }

  private write(lines: readonly Line[]): void {
    writeWhole(this.path, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  }

  private lines(): Line[] {
    if (!existsSync(this.path)) return []
    return readRegular(this.path)
      .split('\n')
      .flatMap(line => {
        try {
          return [JSON.parse(line) as Line]
        } catch {
          return [] // the last line of a killed process, or the empty one at the end
        }
      })
  }
}
