/** What an accelerator's thread shares with its loop. Steps are counted from 1. */
/** Words: the step that may begin, and the step that is over. */
export const GO = 0
export const DONE = 1
/** Times: how long the latest step took (ms). */
export const TOOK = 0
