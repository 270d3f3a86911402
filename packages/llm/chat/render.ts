/**
 * Renders a conversation and finds the characters that are trained on: what the template's generation tags say, or, where it has
 * none, what each of the assistant's messages adds to the text of the messages before it.
 */
import { DecodeError, SourceError } from '../../core/basics/errors.js'
import {
  type Conversation,
  isAssistant,
  isPlain,
  isUnweighted,
  joinParts,
  type PlainPair,
  readConversation,
} from './conversation.js'
import type { Marks } from './jinja/scope.js'
import type { Json, JsonObject } from './json.js'
import { type ContentMarks, markContents, type Piece, split } from './pieces.js'
import { type ChatTemplate, freeMarks, type Given, type Rendered, textsOf } from './template.js'

/** Which part of a conversation is trained on. */
export type Train = 'assistant' | 'last' | 'completion' | 'all'

export interface ChatSettings {
  /** Unsaid: of prompt and completion the completion, of messages the assistant's. */
  train?: Train
  /** What names of special tokens in messages become: those tokens, or text. */
  contents: 'parse' | 'text'
  now?: string
  /** For the template: special tokens, and what the user gave. */
  variables: ReadonlyMap<string, Json>
  /** Names of tokens that must not come out of contents that are text. */
  control: readonly string[]
}

/** What is tokenised: pieces of text, and [from, to) of the characters that are trained on. */
export interface TrainedText {
  pieces: Piece[]
  spans: [number, number][]
  /** Contents have the name of a special token. */
  named: boolean
}

export class ChatRenderer {
  constructor(
    private readonly template: ChatTemplate | undefined,
    private readonly settings: ChatSettings,
  ) {}

  render(read: Conversation | PlainPair): TrainedText {
    return isPlain(read) ? this.plain(read) : this.chat(read)
  }

  /** Prompt and completion, of which the completion is trained on. */
  completion(sample: JsonObject): TrainedText {
    const other = new ChatRenderer(this.template, { ...this.settings, train: 'completion' })
    return other.render(readConversation(sample))
  }

  private plain({ prompt, completion }: PlainPair): TrainedText {
    const { train = 'completion', variables } = this.settings
    const eos = variables.get('eos_token')
    const end = typeof eos === 'string' && !completion.endsWith(eos) ? eos : ''
    const marks = this.contentMarks(prompt + completion)
    const marked = [prompt, completion].map(text => markContents(text, marks) as string)
    const text = marked.join('') + end
    return {
      ...split(text, [[train === 'all' ? 0 : marked[0].length, text.length]], marks),
      named: this.names(prompt + completion),
    }
  }

  private chat({ messages, prompt, tools, variables }: Conversation): TrainedText {
    const { template, settings } = this
    if (template === undefined)
      // Not a fault of this conversation: none of them can be rendered.
      throw new SourceError(
        'chat: the tokenizer has no chat template beside it (chat_template.jinja, or chat_template in tokenizer_config.json): name the file of one with "template"',
      )
    const texts = textsOf(messages) + textsOf(tools) + textsOf(variables)
    const marks = this.contentMarks(texts)
    const known = template.takesParts ? messages : messages.map(joinParts)
    const given: Given = {
      tools: markContents(tools, marks),
      variables: new Map([...settings.variables, ...variables]),
      now: settings.now,
    }
    const values = known.map(message => markContents(message, marks) as JsonObject)
    const turn = new Turns(template, values, given, this.generationMarks(texts), messages, prompt)
    const spans = turn.spans(settings.train ?? (prompt === undefined ? 'assistant' : 'completion'))
    return { ...split(turn.whole.text, spans, marks), named: this.names(texts) }
  }

  private generationMarks(texts: string): Marks {
    const [open, close] = freeMarks(4, texts, this.template!.source)
    return { open, close }
  }

  private contentMarks(texts: string): ContentMarks {
    const [, , open, close] = freeMarks(4, texts, this.template?.source ?? '')
    const { contents, control } = this.settings
    return { open, close, names: contents === 'text' ? control : [] }
  }

  private names(texts: string): boolean {
    return this.settings.control.some(name => texts.includes(name))
  }
}

/** The rendering of a conversation, and of its beginnings where these are needed. */
class Turns {
  readonly whole: Rendered

  constructor(
    private readonly template: ChatTemplate,
    private readonly values: readonly JsonObject[],
    private readonly given: Given,
    private readonly marks: Marks,
    private readonly messages: readonly JsonObject[],
    private readonly prompt: number | undefined,
  ) {
    this.whole = template.render(values, given, marks)
  }

  spans(train: Train): [number, number][] {
    const { text } = this.whole
    if (train === 'all') return [[0, text.length]]
    const { messages, prompt } = this
    if (train === 'completion') {
      const from = prompt ?? messages.length - 1
      return [[this.prefix(from, true), text.length]]
    }
    const assistants = messages.flatMap((message, i) => (isAssistant(message) ? [i] : []))
    const wanted = train === 'last' ? assistants.slice(-1) : assistants
    const trained = wanted.filter(i => !isUnweighted(messages[i]))
    if (this.template.hasTags) return this.tagged(assistants, trained, wanted)
    return trained.map(i => [
      this.prefix(i, true),
      i === messages.length - 1 ? text.length : this.prefix(i + 1, false),
    ])
  }

  /** The template's own tags say it; which message a block belongs to is asked only where it matters. */
  private tagged(assistants: number[], trained: number[], wanted: number[]): [number, number][] {
    const { generated, owners } = this.whole
    if (trained.length === assistants.length) return generated
    if (trained.length === 0) return []
    // A message that says something and has no block may stand in the block of another.
    const apart =
      owners.every(owner => owner !== undefined && assistants.includes(owner)) &&
      assistants.every(i => owners.includes(i) || !says(this.messages[i]))
    if (apart) return generated.filter((_, k) => trained.includes(owners[k]!))
    if (wanted.length === 1 && wanted[0] === this.messages.length - 1) {
      const from = this.prefix(wanted[0], true)
      return generated.filter(([, to]) => to > from)
    }
    throw new DecodeError(
      `the template marks ${generated.length} parts as the assistant's, and ${assistants.length} messages are: ` +
        'which of them have the weight 0, or is the last, can\'t be told; leave such messages out, or use train: "assistant" without weights',
    )
  }

  /** Characters of the text of the first messages, which must be the beginning of the whole. */
  private prefix(count: number, prompt: boolean): number {
    const { text } = this.whole
    let before: string
    try {
      before = this.template.render(this.values.slice(0, count), this.given, this.marks, prompt).text
    } catch (cause) {
      throw new DecodeError(
        `what the assistant wrote can't be found: the template fails for the first ${count} messages alone (${(cause as Error).message}); ${REMEDY}`,
        { cause },
      )
    }
    if (text.startsWith(before)) return before.length
    let same = 0
    while (text[same] === before[same]) same++
    const shown = (of: string) => JSON.stringify(of.slice(same, same + 40))
    throw new DecodeError(
      `what the assistant wrote can't be found: the template writes the first ${count} messages otherwise when others follow ` +
        `(from character ${same} on ${shown(before)} alone, ${shown(text)} in the whole); ${REMEDY}`,
    )
  }
}

const says = (message: JsonObject): boolean =>
  ['content', 'tool_calls'].some(name => textsOf(message.get(name) ?? null) !== '')

const REMEDY =
  'use a template with {% generation %} tags (TRL has such ones for many models), or train on "last", "completion" or "all"'
