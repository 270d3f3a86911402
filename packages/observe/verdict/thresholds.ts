/** The numbers that decide a verdict, and why each is what it is. Shares are 0…1. */

/** A trainer that loses less than this share of the time is fed well enough. */
export const FINE = 0.02
/** Less than this of a step is not worth a cause: rates over a second vary by more. */
export const LEAST_PART = 0.03
/** Fewer steps than this say nothing about causes. */
export const LEAST_STEPS = 100
/** A GPU of which fewer multiprocessors are active waits for its host to launch kernels. */
export const LAUNCH_SM = 0.3
/** A GPU that has work for less than this of the time is not what the trainer uses. */
export const GPU_USED = 0.05
/** A step with makers at work that is longer than this, times the step while they were held, was slowed by them. */
export const SLOWED_STEP = 1.03
/** From half on, a cause explains most of the waiting. */
export const MOST = 0.5
/** A share of unread rows from which the page cache is still being filled. */
export const UNREAD = 0.1
/** Makers that run for so much of the time do nothing else: only more of them, or less work, helps. */
export const ALWAYS_RUNNING = 0.9
/** Idle cores from which another maker finds one. */
export const FREE_CORE = 0.25
/** Waiting for a core, as a share of running and waiting for one: below it is what schedulers cost anyway. */
export const QUEUED = 0.2
/** Makers that could make so many times what is asked for, and still are waited for, are too uneven, not too slow. */
export const AMPLE = 1.2
/** A maker or rank that does less than this, times the median, is a straggler. */
export const STRAGGLER = 0.7
/** Share of the time in which tasks waited for memory. */
export const MEMORY_PSI = 0.05
/** What the processes hold of the memory that they may use, and bytes/s of files that are read again, from which memory is short. */
export const MEMORY_FULL = 0.8
export const READ_AGAIN = 1e6
/** A trainer that ends no step for so many times as long as a step takes, for a second and for so much of the window, has stopped. */
export const SILENT = { steps: 10, ms: 1000, share: 0.2 }
/** A loss from which it is said that a cause is not certain, rather than that there may be none. */
export const MUCH_LOST = 0.1
/** Share of the time in which the control group's quota stopped it. */
export const THROTTLED = 0.05
/** A remedy that gains less is not worth a change; it would not be told from noise. */
export const LEAST_GAIN = 0.03
/** An ideal step shorter than this, as a share of the step, is none: there is no trainer, the feed alone is measured. */
export const GPU_STEP = 0.001
/**
 * A first batch that is late: by more than an ordinary start takes, and by much of the time that was seen. Where it was measured
 * what threads and code took of it, less is enough: opening sources and making a batch (`ofData`, ms) take no such time.
 */
export const SLOW_START = { ms: 2000, ofData: 500, share: 0.1 }
