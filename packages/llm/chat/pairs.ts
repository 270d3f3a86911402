/**
 * Pairs of answers to one prompt, of which one was preferred: `chosen` and `rejected`, as texts or messages. Where there is no
 * `prompt`, it is what both begin with.
 */
import { DecodeError } from '../../core/basics/errors.js'
import { readMessages } from './conversation.js'
import type { Json, JsonObject } from './json.js'
import type { ChatRenderer, TrainedText } from './render.js'

/** Columns of a data set that tell of a pair. */
export const PAIR_COLUMNS = ['prompt', 'chosen', 'rejected', 'tools', 'chat_template_kwargs'] as const

/** Both texts, each with the prompt before it; its one span is the answer. */
export interface RenderedPair {
  chosen: TrainedText
  rejected: TrainedText
  named: boolean
}

export function readPair(sample: JsonObject, renderer: ChatRenderer): RenderedPair {
  const [chosen, rejected] = ['chosen', 'rejected'].map(name => {
    const value = sample.get(name) ?? null
    if (value === null)
      throw new DecodeError(
        `it is no pair: it has no "${name}" (it has ${Array.from(sample.keys()).join(', ')})`,
      )
    return value
  })
  const given = sample.get('prompt') ?? null
  const { prompt, answers } =
    typeof chosen === 'string' && typeof rejected === 'string'
      ? ofTexts(given, chosen, rejected)
      : ofMessages(given, readMessages(chosen, 'chosen'), readMessages(rejected, 'rejected'))
  const [good, bad] = answers.map(completion =>
    renderer.completion(new Map<string, Json>([...sample, ['prompt', prompt], ['completion', completion]])),
  )
  return { chosen: good, rejected: bad, named: good.named || bad.named }
}

function ofTexts(prompt: Json, chosen: string, rejected: string): { prompt: Json; answers: Json[] } {
  if (typeof prompt === 'string') return { prompt, answers: [chosen, rejected] }
  if (prompt !== null) throw new DecodeError('prompt is a list of messages, and the answers are texts')
  let same = 0
  while (same < chosen.length && chosen[same] === rejected[same]) same++
  // A word is not parted, nor a space from the word behind it: as TRL finds the prompt.
  if (same > 0 && chosen[same - 1] === ' ') same--
  checkDifferent(same === chosen.length && same === rejected.length)
  return { prompt: chosen.slice(0, same), answers: [chosen.slice(same), rejected.slice(same)] }
}

function ofMessages(
  prompt: Json,
  chosen: JsonObject[],
  rejected: JsonObject[],
): { prompt: Json; answers: Json[] } {
  if (prompt !== null) {
    const before =
      typeof prompt === 'string'
        ? [
            new Map<string, Json>([
              ['role', 'user'],
              ['content', prompt],
            ]),
          ]
        : readMessages(prompt, 'prompt')
    const after = [chosen, rejected].map(answer =>
      beginsWith(answer, before) ? answer.slice(before.length) : answer,
    )
    return { prompt: before, answers: after }
  }
  let same = 0
  while (same < chosen.length && same < rejected.length && equal(chosen[same], rejected[same])) same++
  checkDifferent(same === chosen.length && same === rejected.length)
  if (same === 0)
    throw new DecodeError(
      'chosen and rejected do not begin with the same message: give what both answer as "prompt"',
    )
  return { prompt: chosen.slice(0, same), answers: [chosen.slice(same), rejected.slice(same)] }
}

/** Some data sets repeat the prompt in the answers. */
function beginsWith(messages: JsonObject[], before: JsonObject[]): boolean {
  return messages.length > before.length && before.every((message, i) => equal(message, messages[i]))
}

function checkDifferent(equal: boolean): void {
  if (equal) throw new DecodeError('chosen and rejected are the same')
}

function equal(a: Json, b: Json): boolean {
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && Array.from(a).every(([key, value]) => b.has(key) && equal(value, b.get(key)!))
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => equal(item, b[i]))
  return a === b
}
