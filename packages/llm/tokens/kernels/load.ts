/** The kernel that widens tokens, and the numbers that it has for types. */
import { kernelsIn } from '../../../core/system/memory/kernels.js'

/** The types of a file of tokens. */
export const TOKEN_CODES = { u16: 0, i32: 1, u32: 2 } as const

/** What each does is told in assembly/tokens.ts. */
export interface TokenKernel {
  widen(source: number, size: number, from: number, first: number, last: number, to: number): number
  widenPair(source: number, size: number, from: number, count: number, input: number, target: number): number
  greatest(source: number, from: number, count: number): number
  fill(size: number, at: number, count: number, value: number): void
  ascend(size: number, at: number, count: number, first: number): void
}

const kernel = kernelsIn(new URL('./', import.meta.url))

export const tokenKernel = (memory: WebAssembly.Memory): TokenKernel => kernel<TokenKernel>('tokens', memory)
