/** What must be done before Ctrl-C ends the process: temporary files taken away, the terminal's line cleared, a summary printed. */

const hooks = new Set<() => void>()

/** Registers a short, synchronous act; returns the way to take it back when it is no longer needed. */
export function onInterrupt(hook: () => void): () => void {
  hooks.add(hook)
  return () => hooks.delete(hook)
}

export function runInterruptHooks(): void {
  for (const hook of hooks) {
    try {
      hook()
    } catch {
      // The process is ending: the other hooks still get their turn.
    }
  }
}

/** The exit status after Ctrl-C. */
export const INTERRUPTED = 130

let ending: { end: () => void; byTerm: boolean } | undefined

/** Ctrl-C, and perhaps SIGTERM, calls `end` in place of ending the process: the verb ends by itself soon, and says what it has to say. */
export function endsItself(end: () => void, by?: 'by SIGTERM too'): () => void {
  ending = { end, byTerm: by !== undefined }
  return () => {
    ending = undefined
  }
}

/** Asks the verb that is running to end by itself. False: none does, or it was asked before. */
export function askToEnd(byTerm = false): boolean {
  if (ending === undefined || (byTerm && !ending.byTerm)) return false
  const { end } = ending
  ending = undefined
  end()
  return true
}
