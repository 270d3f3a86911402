/** Properties are tried on so many cases in `npm run test:long`. */
import fc from 'fast-check'
import { RUNS } from './support.js'

fc.configureGlobal({ numRuns: 1000 * RUNS })
