/**
 * The chat template of a model and its special tokens, as files of Hugging Face have them beside the tokenizer:
 * `chat_template.jinja`, or `chat_template` in `tokenizer_config.json`, which may be a list of named ones.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { SourceError } from '../../core/basics/errors.js'
import { readModelFile } from '../tokenize/find.js'
import { type Json, parseJson } from './json.js'

export interface FoundTemplate {
  /** Undefined: there is none. */
  text?: string
  /** One that is used where there are tools. */
  withTools?: string
  /** Where it was found, for messages. */
  name: string
  /** `bos_token`, `eos_token` and others, by name. */
  tokens: Map<string, string>
}

/** `template`: "tokenizer" takes the one beside the tokenizer; otherwise it is a file. */
export function findTemplate(template: string, tokenizer: string, root: string): FoundTemplate {
  const folder = dirname(tokenizer)
  const path = join(folder, 'tokenizer_config.json')
  const config = existsSync(path) ? readConfig(path) : new Map<string, Json>()
  const tokens = new Map<string, string>()
  for (const [name, value] of config) {
    if (!name.endsWith('_token')) continue
    const text = value instanceof Map ? value.get('content') : value
    if (typeof text === 'string') tokens.set(name, text)
  }
  if (template !== 'tokenizer') {
    const file = resolve(root, template)
    return { text: readModelFile(file, 'chat template').toString(), name: basename(file), tokens }
  }
  const jinja = join(folder, 'chat_template.jinja')
  if (existsSync(jinja))
    return { text: readModelFile(jinja, 'chat template').toString(), name: jinja, tokens }
  return { ...inConfig(config.get('chat_template') ?? null, path), name: path, tokens }
}

function inConfig(json: Json, path: string): { text?: string; withTools?: string } {
  if (json === null) return {}
  if (typeof json === 'string') return { text: json }
  const named = new Map<string, string>()
  for (const entry of Array.isArray(json) ? json : []) {
    const [name, text] = entry instanceof Map ? [entry.get('name'), entry.get('template')] : []
    if (typeof name === 'string' && typeof text === 'string') named.set(name, text)
  }
  const text = named.get('default')
  if (text === undefined)
    throw new SourceError(
      `${path} has chat templates (${Array.from(named.keys()).join(', ')}), and none is called default: write one to a file and name it with "template"`,
      { file: path },
    )
  return { text, withTools: named.get('tool_use') }
}

function readConfig(path: string): Map<string, Json> {
  const text = readModelFile(path, 'tokenizer_config.json').toString()
  let config: Json
  try {
    config = parseJson(text)
  } catch (cause) {
    throw new SourceError(`${path}: ${(cause as Error).message}`, { file: path, cause })
  }
  if (config instanceof Map) return config
  throw new SourceError(`${path} should be a JSON object`, { file: path })
}
