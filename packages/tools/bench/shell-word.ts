/** A word of a command line, as a shell reads it back: printed lines can be pasted. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./#-]+$/.test(text) && !text.startsWith('#') ? text : `'${text.replaceAll("'", "'\\''")}'`
}
