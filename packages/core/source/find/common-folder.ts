/** The longest folder path, with its slash, that all files begin with; empty where they have none in common. */
export function commonFolder(files: readonly string[]): string {
  let common = files[0].slice(0, files[0].lastIndexOf('/') + 1)
  for (const file of files) {
    while (!file.startsWith(common)) common = common.slice(0, common.slice(0, -1).lastIndexOf('/') + 1)
  }
  return common
}
