/** Writes to the terminal. Names of runs, files and samples are of others: what a terminal would obey is escaped. */
import { printable } from '../../core/basics/errors.js'

/** A value as JSON, in which such characters are escaped as JSON has it. */
export function asJson(value: unknown): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  const text = JSON.stringify(value)
  if (text === undefined || printable(text) === text) return text
  return text.replace(/./gsu, char => (printable(char) === char ? char : escaped(char)))
}

/** Lines on stderr; `into` stdout what a verb has to say. */
export function say(text: string, into: NodeJS.WriteStream = process.stderr): void {
  into.write(`${printable(text, true)}\n`)
}
