/** A list of whole numbers, as an option gives it: `1,2,4`. */
import { UsageError } from '../../command.js'

export function numbersOf(name: string, list: string, least: number): number[] {
  return list.split(',').map(text => {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    if (Number.isSafeInteger(number) && number >= least) return number
    throw new UsageError(
      `--${name} wants whole numbers from ${least} with commas between them, not "${list}"`,
    )
  })
}
