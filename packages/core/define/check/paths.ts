/** Paths of a source's files. */
import { either, isText, list, type Parser, text } from '../../basics/shape.js'

/** One path or pattern, or a list of them. */
export const paths: Parser<string | string[]> = either(
  isText,
  text,
  list(text, 'a path, a pattern or a list of them', { min: 1 }),
)
