/** Hidden files and folders, as shells and `ls` see them. */
/** Whether the last name of a path begins with a dot. */
export function isHidden(path: string): boolean {
  return path.startsWith('.', path.lastIndexOf('/') + 1)
}
