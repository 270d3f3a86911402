/** Which column of a sample a member of a shard fills. */

/** The column that an extension fills: `json.gz` is `json`, gunzipped. */
export function columnOf(extension: string): { column: string; gzip: boolean } {
  return extension.length > 3 && extension.endsWith('.gz')
    ? { column: extension.slice(0, -3), gzip: true }
    : { column: extension, gzip: false }
}
