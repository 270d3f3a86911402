/**
 * Cases of a property. By default they are 100, and in `npm run test:long` as many as test/long/property-runs.ts says, so most
 * properties give no number. One whose cases take long has fewer in `npm test`.
 */
import fc from 'fast-check'

/** So many cases in `npm test`, and as many as all others in `npm run test:long`. */
export function runs(few: number): number {
  return fc.readConfigureGlobal().numRuns ?? few
}
