/** One thing that `doctor` looks at, and what it finds. */

/** What a look gives. Where there is something to do, it has the verdict of its check. */
export interface Look {
  is: string
  /** One sentence of advice. */
  todo?: string | false
  /** The same and more for programs: what `--json` has beside the words. */
  data?: Readonly<Record<string, unknown>>
}

export interface Check<Facts> {
  what: string
  /** Nothing works without it. */
  needed?: true
  look(facts: Facts): Look | Promise<Look>
  /** What to do where the look itself fails. */
  otherwise?: string
}

export interface Finding {
  what: string
  /** ok; warn: works, but slower or with less; bad: needed, and missing. */
  verdict: 'ok' | 'warn' | 'bad'
  is: string
  todo?: string
  data?: Look['data']
}

export async function find<Facts>(check: Check<Facts>, facts: Facts): Promise<Finding> {
  const { what, needed, otherwise } = check
  const wrong = needed ? 'bad' : 'warn'
  try {
    const { todo, ...look } = await check.look(facts)
    return todo ? { what, verdict: wrong, ...look, todo } : { what, verdict: 'ok', ...look }
  } catch (error) {
    const is = (error as Error).message.split('\n')[0]
    return { what, verdict: wrong, is, ...(otherwise !== undefined && { todo: otherwise }) }
  }
}

export const findAll = <Facts>(checks: readonly Check<Facts>[], facts: Facts): Promise<Finding[]> =>
  Promise.all(checks.map(check => find(check, facts)))
