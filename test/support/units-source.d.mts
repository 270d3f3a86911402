import type { Plugin } from '../../packages/core/source/plugins.js'

export interface Written {
  rows: number
  seed: number
  /** Rows of each unit; absent: 1 to 500, by the seed. */
  each?: number
  /** Files. */
  parts?: number
  /** How many times 1 to 8 bytes are stored of each column of a row. `expected` knows of 1. */
  scale?: number
}

export interface Expected {
  data: Uint8Array
  extra: Uint8Array
  own: Uint8Array
  number: number
  label: number
  group: string
}

export function hash(...numbers: number[]): number
export function groupRows(written: Written): number[]
export function expected(seed: number, row: number): Expected
export function writeUnits(folder: string, written: Written): void
export function loadsIn(log: string): Map<number, number>

declare const plugin: Plugin
export default plugin
