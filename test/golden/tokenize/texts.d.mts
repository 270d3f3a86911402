export const NASTY: readonly string[]
export const LONG: Readonly<Record<string, () => string>>
export const RANDOM: number
export function randomText(seed: number): string
export const BLOCK: number
export const BLOCKS: number
export function between(block: number): string
export function digest(numbers: ArrayLike<number>): string
