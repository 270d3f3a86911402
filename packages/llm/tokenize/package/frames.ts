/** How the process of the package `tokenizers` is asked: bytes before each question and answer, and what their fifth says. */
export const FRAME = 5
export const KINDS = { setup: 0, model: 1, encode: 2, decode: 3, tokens: 4, text: 5, error: 6 } as const
