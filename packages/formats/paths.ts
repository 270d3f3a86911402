/** How builders of sources write paths and options. */
import type { PathsJson } from '../core/define/types.js'

/** One path as it is, several as a list. */
export const oneOrMore = (paths: string[]): string | string[] => (paths.length === 1 ? paths[0] : paths)

/** A path alone, or with options where there are some. */
export const withOptions = <Path, Options extends object>(
  path: Path,
  options: Options,
): Path | ({ path: Path } & Options) => (Object.keys(options).length === 0 ? path : { path, ...options })

/** A path alone as an object, too. */
export function withPath<Json extends { path: PathsJson }>(
  json: PathsJson | Json,
): Partial<Json> & { path: PathsJson } {
  return typeof json === 'string' || Array.isArray(json)
    ? ({ path: json } as Partial<Json> & { path: PathsJson })
    : json
}
