/** `--alert`: rules are checked before anything is opened. */
import { parseAlert } from '../../observe/live/alert-rules.js'
import { UsageError } from '../command.js'

export function checkAlerts(rules: readonly string[]): void {
  for (const rule of rules) {
    try {
      parseAlert(rule)
    } catch (error) {
      throw new UsageError(`--alert: ${(error as Error).message}`)
    }
  }
}
