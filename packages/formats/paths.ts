/** How builders of sources write paths and options. */

/** One path as it is, several as a list. */
export const oneOrMore = (paths: string[]): string | string[] => (paths.length === 1 ? paths[0] : paths)

/** A path alone, or with options where there are some. */
export const withOptions = <Path, Options extends object>(
  path: Path,
  options: Options,
): Path | ({ path: Path } & Options) => (Object.keys(options).length === 0 ? path : { path, ...options })
