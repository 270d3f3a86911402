/** What must be done before Ctrl-C ends the process: temporary files taken away, the terminal's line cleared. */

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
