/**
 * By which numbers bad samples are judged (judge.ts, causes.ts), in Node and in Python. Python's copy
 * (python/millrace/_generated/) is generated from this file: npm run generate.
 */

/** Bad samples are listed up to this many; all are counted. */
export const LISTED = 1000

/** If more than half of so many first samples are bad, the run ends. */
export const FIRST = 1000

/** Epochs of fewer samples than this are not judged so: in a handful, half of them may well be bad. */
export const FEW = 100

/** So many samples and not one good, all for the same cause: code that throws, or a column that is not there. */
export const FEW_ALIKE = 2

/** So many bad samples are named at the end of an epoch. */
export const NAMED = 3

/** Causes are told apart up to this many. */
export const MOST_CAUSES = 100

/** So many causes are named, the most frequent first. */
export const TOLD_CAUSES = 5

/** So many samples are named with each cause. */
export const EXAMPLES = 3
