export type Vocabulary = 'r50k' | 'cl100k' | 'o200k' | 'llama3'

export interface TokenizerJson {
  added_tokens: Record<string, unknown>[]
  normalizer: unknown
  pre_tokenizer: unknown
  model: Record<string, unknown>
}

export function ranksFile(name: string): string
export function addedToken(id: number, content: string, more?: object): Record<string, unknown>
export function tokenizerJson(name: Vocabulary): Promise<TokenizerJson>
