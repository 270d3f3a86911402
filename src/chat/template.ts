/**
 * A chat template, ready to render. `{% generation %}` tags, which say what an assistant writes, become calls of a block before
 * parsing, since the package would strip them; what such a block prints stands between two marks, which are found and cut after
 * rendering. The marks are private-use characters that occur in none of the texts.
 */
import { DecodeError, MillraceError } from '../basics/errors.js'
import { strftime } from './date.js'
import { GENERATION, type Marks, newInterpreter, TemplateRefusal } from './jinja/interpreter.js'
import { type Jinja, loadJinja, type Node, type Scope, type Value } from './jinja/package.js'
import { isInteger, str, toValue } from './jinja/values.js'
import type { Json, JsonObject } from './json.js'

const TAG = /\{%(-?)\s*(end)?generation\s*(-?)%\}/g
/** Numbers that `range` of a template may give. */
const RANGE = 1_000_000

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
  private readonly program: Node

  private constructor(
    private readonly jinja: Jinja,
    readonly source: string,
    name: string,
  ) {
    const lines = source.replace(/\r\n?/g, '\n')
    this.hasTags = lines.search(TAG) >= 0
    this.takesParts = /['"]type['"]|\.type\b|['"]text['"]|\.text\b/.test(lines)
    const tagged = lines.replace(TAG, (_, left: string, end: string | undefined, right: string) =>
      end === undefined ? `{%${left} call ${GENERATION}() ${right}%}` : `{%${left} endcall ${right}%}`,
    )
    try {
      this.program = jinja.parse(tagged)
    } catch (cause) {
      throw new DecodeError(`the chat template ${name} can't be read: ${(cause as Error).message}`, { cause })
    }
  }

  static async load(source: string, name: string): Promise<ChatTemplate> {
    return new ChatTemplate(await loadJinja(), source, name)
  }

  /** The messages of a conversation, as values for `render`. */
  values(messages: readonly JsonObject[]): Value[] {
    return messages.map(message => toValue(this.jinja, message))
  }

  /** `prompt`: with the head of the assistant's next turn (`add_generation_prompt`). */
  render(messages: readonly Value[], given: Given, marks: Marks, prompt = false): Rendered {
    const { jinja } = this
    const scope = this.globals(given.now)
    for (const [name, value] of given.variables) scope.setVariable(name, toValue(jinja, value))
    scope.setVariable('messages', new jinja.List(messages.slice()))
    scope.setVariable('tools', toValue(jinja, given.tools))
    if (!given.variables.has('documents')) scope.setVariable('documents', jinja.none)
    scope.setVariable('add_generation_prompt', new jinja.Bool(prompt))
    const numbers = new Map(messages.map((message, i) => [message, i]))
    let printed: string
    try {
      printed = newInterpreter(jinja, scope, marks, numbers).run(this.program).value as string
    } catch (cause) {
      if (cause instanceof MillraceError) throw cause
      // What overflows the stack is no fault of ours: the template calls itself.
      throw new DecodeError(`the chat template fails: ${(cause as Error).message}`, { cause })
    }
    return cut(printed, marks)
  }

  private globals(now: string | undefined): Scope {
    const { jinja } = this
    const scope = jinja.newScope()
    for (const [names, value] of [
      [['true', 'True'], new jinja.Bool(true)],
      [['false', 'False'], new jinja.Bool(false)],
      [['none', 'None'], jinja.none],
    ] as const) {
      for (const name of names) scope.setVariable(name, value)
    }
    const define = (name: string, call: (args: Value[]) => Value) =>
      scope.setVariable(name, new jinja.Function(call))
    define('raise_exception', ([message]) => {
      throw new TemplateRefusal(`the chat template refuses it: ${message === undefined ? '' : str(message)}`)
    })
    define('strftime_now', ([format]) => new jinja.Text(strftime(now, str(format))))
    define('range', args => this.range(args))
    define('dict', args => new jinja.Dict(new Map(args[0]?.value as Map<string, Value> | undefined)))
    return scope
  }

  private range(args: Value[]): Value {
    if (args.length === 0 || !args.every(isInteger)) throw new Error('range() wants integers')
    const numbers = args.map(({ value }) => value as number)
    const [from, to, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers
    if (step === 0) throw new Error('range() wants a step other than 0')
    const count = Math.max(0, Math.ceil((to - from) / step))
    if (count > RANGE) throw new DecodeError(`the chat template asks for a range of ${count} numbers`)
    const { Integer } = this.jinja
    return new this.jinja.List(Array.from({ length: count }, (_, i) => new Integer(from + i * step)))
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
  const source = template?.replace(/\{#.*?#\}/gs, '') ?? ''
  return added
    .filter(({ text, special }) => special || (text.trim() !== '' && source.includes(text)))
    .map(({ text }) => text)
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

/** All texts of a value. */
export function textsOf(json: Json): string {
  if (typeof json === 'string') return json
  if (Array.isArray(json)) return json.map(textsOf).join('')
  return json instanceof Map ? Array.from(json, ([key, value]) => key + textsOf(value)).join('') : ''
}
