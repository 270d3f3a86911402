/** Notices of many sources that say the same of each: the first are told, the others counted. */

/** As many of a kind are told. */
const TOLD = 3

export class FewNotices {
  private readonly counts = new Map<string, number>()

  constructor(private readonly tell: (text: string) => void) {}

  /** What tells the notices of one source. Texts that differ in numbers and paths only are of one kind. */
  of(source: string): (text: string) => void {
    return text => this.notice(text, source)
  }

  private notice(text: string, source: string): void {
    const kind = text.replace(/\/\S+|[\d.,]+/g, '…')
    const count = (this.counts.get(kind) ?? 0) + 1
    this.counts.set(kind, count)
    if (count <= TOLD) this.tell(`${text} (entry "${source}" of the blend)`)
  }

  /** Says how many were not told. */
  end(): void {
    for (const [kind, count] of this.counts)
      if (count > TOLD)
        this.tell(`the same of ${count - TOLD} more sources of the blend: "${kind.slice(0, 60)}…"`)
  }
}
