/** The version of this package, for verbs. */
export { version } from '../basics/version.js'
