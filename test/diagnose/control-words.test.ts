/** Words of the control memory: what is half written or damaged is not taken for a request. */
import { expect, test } from 'vitest'
import {
  answerBytes,
  headBytes,
  readAnswer,
  readHead,
  readRequest,
  requestBytes,
} from '../../src/engine/control/words.js'

const request = { sequence: 3, asker: 4711, ring: 2, workers: 6, depth: 8, restUntil: 12345.5 }

test('requests and answers are read as they were written', () => {
  expect(readRequest(requestBytes(request))).toEqual(request)
  const answer = { sequence: 3, result: 1, workers: 6, depth: 8, asker: 4711, at: 678.25 }
  expect(readAnswer(answerBytes(answer))).toEqual(answer)
  expect(readHead(headBytes(17))).toEqual({ version: 1, pid: 17 })
})

test('one byte that differs is seen', () => {
  const bytes = requestBytes(request)
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice()
    damaged[at] ^= 1 << (at % 8)
    expect(readRequest(damaged)).toBeUndefined()
  }
})

test('memory that was never written, or is cut, holds nothing', () => {
  expect(readRequest(new Uint8Array(40))).toBeUndefined()
  expect(readAnswer(new Uint8Array(32))).toBeUndefined()
  expect(readRequest(requestBytes(request).subarray(0, 39))).toBeUndefined()
  expect(readHead(new Uint8Array(16))).toBeUndefined()
})
