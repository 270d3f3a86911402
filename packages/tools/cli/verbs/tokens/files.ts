/** What verbs of `millrace tokens` share: options that say what files are. */

import { nearest } from '../../../../core/basics/errors.js'
import type { TokenFileOptions } from '../../../../llm/tokens/formats/found.js'
import { TOKEN_DTYPES, TOKEN_FORMATS, type TokenFile } from '../../../../llm/tokens/formats/token-file.js'
import { type Argument, type Option, UsageError } from '../../command.js'
import { flagsOf } from '../../option-flags.js'

export const FILES: Argument = {
  name: 'FILES',
  about: 'paths or patterns of token files, or what the names of a .bin and its .idx begin with',
  many: true,
}

export const FILE_OPTIONS = {
  format: {
    type: 'text',
    value: 'NAME',
    about: `${TOKEN_FORMATS.join(', ')}; found out by the files themselves where it is not said`,
  },
  dtype: {
    type: 'text',
    value: 'TYPE',
    about: `type of tokens in files without a header: ${TOKEN_DTYPES.join(', ')}`,
  },
  ...flagsOf('tokens'),
} as const satisfies Record<string, Option>

export const EOD = {
  eod: {
    type: 'count',
    value: 'TOKEN',
    about: 'the token that marks documents, where files do not list them',
  },
} as const satisfies Record<string, Option>

export const OVERWRITE = {
  overwrite: { type: 'flag', about: 'replace files that are there' },
} as const satisfies Record<string, Option>

/** One of some names. */
export function oneOf<T extends string>(
  option: string,
  text: string | undefined,
  names: readonly T[],
): T | undefined {
  if (text === undefined || names.includes(text as T)) return text as T | undefined
  const near = nearest(text, names)
  throw new UsageError(
    `--${option} is one of ${names.join(', ')}, not "${text}"${near ? `; did you mean ${near}?` : ''}`,
  )
}

interface Given {
  format: string | undefined
  dtype: string | undefined
  plugin: string[]
}

export function fileOptions({ format, dtype }: Given): TokenFileOptions {
  return {
    ...(format !== undefined && { format: oneOf('format', format, TOKEN_FORMATS) }),
    ...(dtype !== undefined && { dtype: oneOf('dtype', dtype, TOKEN_DTYPES) }),
  }
}

/** Opens the files that a command line names. */
export async function openFiles(
  paths: readonly string[],
  values: Given,
  notice: (text: string) => void,
  more: TokenFileOptions = {},
): Promise<TokenFile[]> {
  const options = { ...fileOptions(values), ...more }
  const { openTokenFiles } = await import('../../../../llm/tokens/formats/open.js')
  return openTokenFiles(paths, options, { root: process.cwd(), notice })
}
