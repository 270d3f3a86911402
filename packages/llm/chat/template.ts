/**
 * A chat template, ready to render. What a `{% generation %}` block prints, which is what an assistant writes, stands between two
 * marks, which are found and cut after rendering. The marks are private-use characters that occur in none of the texts.
 */
import { DecodeError, MillraceError } from '../../core/basics/errors.js'
import { globalsOf } from './jinja/builtins/globals.js'
import { Meter, Output } from './jinja/meter.js'
import { type Marks, Scope } from './jinja/scope.js'
import { parse, type Statement } from './jinja/statements.js'
import type { Value } from './jinja/values.js'
import type { Json, JsonObject } from './json.js'

const TAG = /\{%[-+]?\s*generation\s*[-+]?%\}/
/** Characters of a template: the largest known has 20,000. */
const MOST_CHARACTERS = 1 << 20

/** What a template gets besides the messages. */
export interface Given {
  tools: Json
  /** Special tokens by name (`bos_token`, …), and variables that the user gave. */
  variables: ReadonlyMap<string, Json>
  now?: string
}

/** Rendered text, and the parts of it that generation blocks printed: [from, to) in UTF-16 units, in order. */
export interface Rendered {
  text: string
  generated: [number, number][]
  /** Of each part the number of its message, where that is known. */
  owners: (number | undefined)[]
}

export class ChatTemplate {
  /** Whether it says by tags what is trained on. */
  readonly hasTags: boolean
  /** It goes through lists of parts itself. */
  readonly takesParts: boolean
  private readonly program: Statement

  constructor(
    readonly source: string,
    name: string,
  ) {
    this.hasTags = TAG.test(source)
    this.takesParts = /['"]type['"]|\.type\b|['"]text['"]|\.text\b/.test(source)
    try {
      if (source.length > MOST_CHARACTERS) throw new Error(`it has more than ${MOST_CHARACTERS} characters`)
      this.program = parse(source)
    } catch (cause) {
      throw new DecodeError(`the chat template ${name} can't be read: ${(cause as Error).message}`, { cause })
    }
  }

  /** `prompt`: with the head of the assistant's next turn (`add_generation_prompt`). */
  render(messages: readonly JsonObject[], given: Given, marks: Marks, prompt = false): Rendered {
    const meter = new Meter()
    const globals = globalsOf(meter, given.now)
    const numbers = new Map<Value, number>(messages.map((message, i) => [message, i]))
    const scope = new Scope({ meter, marks, messages: numbers, globals })
    const { variables } = scope
    for (const [name, value] of given.variables) variables.set(name, value)
    variables.set('messages', messages)
    variables.set('tools', given.tools)
    if (!given.variables.has('documents')) variables.set('documents', null)
    variables.set('add_generation_prompt', prompt)
    const out = new Output(meter)
    try {
      this.program(scope, out)
    } catch (cause) {
      if (cause instanceof MillraceError) throw cause
      // What overflows the stack is no fault of ours: the template calls itself.
      throw new DecodeError(`the chat template fails: ${(cause as Error).message}`, { cause })
    }
    return cut(out.text(), marks)
  }
}

/** Takes the marks out of what was printed, and the numbers of messages behind the first of them. A block inside another belongs to it. */
function cut(printed: string, { open, close }: Marks): Rendered {
  const generated: [number, number][] = []
  const owners: (number | undefined)[] = []
  let [text, done, depth, from] = ['', 0, 0, 0]
  for (let at = 0; at < printed.length; at++) {
    const char = printed[at]
    if (char !== open && char !== close) continue
    text += printed.slice(done, at)
    if (char === open) {
      const number = printed.slice(at + 1, printed.indexOf(open, at + 1))
      at += number.length + 1
      if (depth++ === 0) {
        from = text.length
        owners.push(number === '' ? undefined : Number(number))
      }
    } else if (--depth === 0) generated.push([from, text.length])
    done = at + 1
  }
  return { text: text + printed.slice(done), generated, owners }
}

/** Names of tokens that a template may write: special ones, and others that it mentions. What people write must not become them. */
export function controlTokens(
  template: string | undefined,
  added: readonly { text: string; special: boolean }[],
): string[] {
  const source = withoutComments(template ?? '')
  return added
    .filter(({ text, special }) => special || (text.trim() !== '' && source.includes(text)))
    .map(({ text }) => text)
}

function withoutComments(template: string): string {
  const parts = template.split('{#')
  // Comments lie in no other, and end at the first end behind them.
  return (
    parts[0] +
    parts
      .slice(1)
      .map(part => (part.includes('#}') ? part.slice(part.indexOf('#}') + 2) : ''))
      .join('')
  )
}

/** Private-use characters for marks, `count` of them, that none of the texts has. */
export function freeMarks(count: number, ...texts: string[]): string[] {
  const free: string[] = []
  for (let code = 0xe000; code <= 0xf8ff && free.length < count; code++) {
    const char = String.fromCharCode(code)
    if (!texts.some(text => text.includes(char))) free.push(char)
  }
  if (free.length < count)
    throw new DecodeError('the conversation uses all private-use characters of Unicode')
  return free
}

export function textsOf(json: Json): string {
  if (typeof json === 'string') return json
  if (Array.isArray(json)) return json.map(textsOf).join('')
  return json instanceof Map ? Array.from(json, ([key, value]) => key + textsOf(value)).join('') : ''
}
