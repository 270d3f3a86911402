/**
 * A conversation as data sets have them, made into messages: `messages`, `prompt` and `completion` (texts or messages), or
 * `conversations` of ShareGPT. `tools` may stand beside them.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { Float, type Json, type JsonObject, parseJson } from './json.js'

export interface Conversation {
  messages: JsonObject[]
  /** Of prompt and completion: so many messages are the prompt. */
  prompt?: number
  tools: Json
  /** Variables of this sample for the template. */
  variables: JsonObject
}

/** Prompt and completion that are plain texts: no template is used. */
export interface PlainPair {
  prompt: string
  completion: string
}

/** Columns of a data set that may hold a conversation. */
export const CHAT_COLUMNS = [
  'messages',
  'prompt',
  'completion',
  'conversations',
  'tools',
  'chat_template_kwargs',
] as const

const ROLES: Readonly<Record<string, string>> = {
  human: 'user',
  user: 'user',
  gpt: 'assistant',
  assistant: 'assistant',
  chatgpt: 'assistant',
  bing: 'assistant',
  bard: 'assistant',
  model: 'assistant',
  system: 'system',
  tool: 'tool',
  observation: 'tool',
  function_response: 'tool',
  function_call: 'assistant',
}

export function readConversation(sample: JsonObject): Conversation | PlainPair {
  const value = (name: string): Json => sample.get(name) ?? null
  const [tools, variables] = [
    parsed(value('tools'), 'tools'),
    parsed(value('chat_template_kwargs'), 'chat_template_kwargs'),
  ]
  if (tools !== null && !Array.isArray(tools)) throw new DecodeError('tools should be a list of schemas')
  const more = {
    // transformers gives an empty list to the template as it is.
    tools,
    variables: variables instanceof Map ? variables : new Map<string, Json>(),
  }
  const messages = parsed(value('messages'), 'messages')
  if (messages !== null) return { messages: readMessages(messages, 'messages'), ...more }
  const conversations = parsed(value('conversations'), 'conversations')
  if (conversations !== null) {
    if (!Array.isArray(conversations)) throw new DecodeError('conversations should be a list of messages')
    return { messages: readMessages(conversations.map(fromShareGpt), 'conversations'), ...more }
  }
  const [prompt, completion] = [value('prompt'), value('completion')]
  if (prompt === null || completion === null) {
    throw new DecodeError(
      `it has no conversation: neither messages, nor prompt and completion, nor conversations (it has ${Array.from(sample.keys()).join(', ') || 'nothing'})`,
    )
  }
  if (typeof prompt === 'string' && typeof completion === 'string') return { prompt, completion }
  const before = readMessages(prompt, 'prompt')
  return {
    messages: [...before, ...readMessages(completion, 'completion')],
    prompt: before.length,
    ...more,
  }
}

export const isPlain = (read: Conversation | PlainPair): read is PlainPair => 'completion' in read

/** Some data sets keep lists as text. */
function parsed(json: Json, name: string): Json {
  if (typeof json !== 'string') return json
  try {
    return parseJson(json)
  } catch (cause) {
    throw new DecodeError(`${name} is a text, and ${(cause as Error).message}`, { cause })
  }
}

export function readMessages(json: Json, name: string): JsonObject[] {
  if (!Array.isArray(json)) throw new DecodeError(`${name} should be a list of messages`)
  if (json.length === 0) throw new DecodeError(`${name} has no messages`)
  return json.map((message, i) => {
    if (!(message instanceof Map))
      throw new DecodeError(`${name}[${i}] should be an object with role and content`)
    if (typeof message.get('role') !== 'string')
      throw new DecodeError(`${name}[${i}] has no role, such as "user" or "assistant"`)
    checkContent(message.get('content') ?? null, `${name}[${i}].content`)
    checkWeight(message.get('weight') ?? null, `${name}[${i}].weight`)
    return withReasoning(message)
  })
}

function checkContent(content: Json, path: string): void {
  if (content === null || typeof content === 'string') return
  if (!Array.isArray(content)) throw new DecodeError(`${path} should be a text or a list of parts`)
  content.forEach((part, i) => {
    if (typeof part === 'string') return
    if (part instanceof Map && typeof part.get('text') === 'string') return
    const type = part instanceof Map ? part.get('type') : undefined
    throw new DecodeError(
      `${path}[${i}] is no part of text${typeof type === 'string' ? ` but of the type ${type}` : ''}: only texts become tokens here`,
    )
  })
}

function checkWeight(weight: Json, path: string): void {
  if (weight === null || weightOf(weight) === 0 || weightOf(weight) === 1) return
  throw new DecodeError(`${path} should be 0 or 1: a message is trained on, or is not`)
}

function weightOf(weight: Json): number | undefined {
  if (weight instanceof Float) return weight.value
  if (typeof weight === 'boolean') return Number(weight)
  return typeof weight === 'number' ? weight : undefined
}

export const isUnweighted = (message: JsonObject): boolean => weightOf(message.get('weight') ?? null) === 0

export const isAssistant = (message: JsonObject): boolean => message.get('role') === 'assistant'

/** Data sets and templates call what a model thought by three names: transformers 5 fills in the others (4 does not), and so do we. */
function withReasoning(message: JsonObject): JsonObject {
  const found = ['reasoning_content', 'thinking', 'reasoning']
    .map(name => message.get(name) ?? null)
    .find(value => value !== null)
  if (found === undefined) return message
  return new Map<string, Json>([['thinking', found], ...message]).set('reasoning_content', found)
}

function fromShareGpt(message: Json): Json {
  if (!(message instanceof Map) || message.has('role')) return message
  const [from, value] = [message.get('from'), message.get('value')]
  if (typeof from !== 'string') return message
  const role = ROLES[from]
  if (role === undefined)
    throw new DecodeError(
      `a message is from ${JSON.stringify(from)}: known are ${Object.keys(ROLES).join(', ')}`,
    )
  const out: JsonObject = new Map<string, Json>([
    ['role', role],
    ['content', value ?? null],
  ])
  for (const [key, more] of message) if (key !== 'from' && key !== 'value') out.set(key, more)
  return out
}

/** The same messages with texts in place of lists of parts, for templates that know only texts. */
export function joinParts(message: JsonObject): JsonObject {
  const content = message.get('content')
  if (!Array.isArray(content)) return message
  const texts = content.map(part => (part instanceof Map ? (part.get('text') as string) : (part as string)))
  return new Map(message).set('content', texts.join('\n'))
}
