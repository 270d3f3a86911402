/** What is wrong with compressed data, in words that follow "the zstd data …". */
import { DecodeError } from '../basics/errors.js'

/** The output would be larger than it may be. */
export class TooLarge extends DecodeError {
  constructor(size?: number) {
    super(size === undefined ? 'is larger' : `has ${size} bytes`)
  }
}

export const damaged = (at: number, why: string): DecodeError =>
  new DecodeError(`is damaged at byte ${at}: ${why}`)

export const cut = (at: number): DecodeError => damaged(at, 'it is cut off')

/** The output does not fit the buffer that it was to fill. */
export const tooLarge = (room: number): DecodeError =>
  new DecodeError(`decompresses to more than the ${room} bytes that it should have`)

/** A match that refers to bytes before the first one. */
export const tooFarBack = (at: number, offset: number, there: number): DecodeError =>
  damaged(at, `a match reaches ${offset} bytes back, where ${there} are`)
