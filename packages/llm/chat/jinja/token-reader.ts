/** The tokens of a template, as its parser goes through them. */
import type { Token } from './lexer.js'

/** Levels of expressions and blocks in each other. */
const MOST_LEVELS = 200

const NAMES: Readonly<Record<Token['type'], string>> = {
  ...{
    text: 'text',
    tag: 'a tag',
    print: 'a tag',
    end: 'the end of the tag',
    name: 'a name',
    integer: 'a number',
  },
  ...{
    float: 'a number',
    string: 'a text in quotes',
    operator: 'an operator',
    eof: 'the end of the template',
  },
}

export class TokenReader {
  protected at = 0
  private levels = 0
  constructor(protected readonly tokens: readonly Token[]) {}

  protected get token(): Token {
    return this.tokens[this.at]
  }

  protected next(): Token {
    return this.tokens[this.at++]
  }

  protected is(type: Token['type'], value?: string): boolean {
    return this.token.type === type && (value === undefined || this.token.value === value)
  }

  protected takes(type: Token['type'], value?: string): boolean {
    if (!this.is(type, value)) return false
    this.at++
    return true
  }

  protected expect(type: Token['type'], value?: string): string {
    if (!this.is(type, value))
      throw this.fault(value === undefined ? `${NAMES[type]} should stand` : `"${value}" should stand`)
    return this.next().value
  }

  protected fault(problem: string): Error {
    const { type, value, line } = this.token
    return new Error(
      `line ${line}: ${problem} here, and there is ${value === '' || type === 'text' ? NAMES[type] : JSON.stringify(value.slice(0, 40))}`,
    )
  }

  /** Parses what may stand in itself. */
  protected deeper<T>(parse: () => T): T {
    if (++this.levels > MOST_LEVELS) throw this.fault(`more than ${MOST_LEVELS} levels lie in each other`)
    const parsed = parse()
    this.levels--
    return parsed
  }
}
