/** One thing that `doctor` has looked at: what it is, and what to do about it. */
export interface Finding {
  what: string
  /** ok; warn: works, but slower or with less; bad: needed, and missing. */
  verdict: 'ok' | 'warn' | 'bad'
  is: string
  todo?: string
  /** The same and more for programs: what `--json` has beside the words. */
  data?: Readonly<Record<string, unknown>>
}
