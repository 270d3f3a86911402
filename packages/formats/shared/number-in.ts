/**
 * The plain decimal number that a text is, blanks around it allowed; undefined where it is none. An integer of so many
 * digits that a number would round it is none: it is a name, such as that of a patient.
 */
export function numberIn(text: string): number | undefined {
  if (!/^\s*[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?\s*$/.test(text)) return undefined
  const number = Number(text)
  return Math.abs(number) > Number.MAX_SAFE_INTEGER && /^\s*[-+]?\d+\s*$/.test(text) ? undefined : number
}
