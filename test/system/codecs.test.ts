import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

it('says what to do where TurboJPEG is missing', async () => {
  vi.stubEnv('MILLRACE_TURBOJPEG', '/no/such/libturbojpeg.so')
  const { encodeJpeg } = await import('../../src/system/codecs/turbojpeg.js')
  const call = () => encodeJpeg(new Uint8Array(3), 1, 1, 75)
  expect(call).toThrow(/install libjpeg-turbo 3.*npm run build.*MILLRACE_TURBOJPEG/)
  expect(call).toThrow(/tried \/no\/such\/libturbojpeg\.so/)
})

it('refuses a library that is not TurboJPEG 3, and says which it tried', async () => {
  vi.stubEnv('MILLRACE_TURBOJPEG', process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6')
  const { encodeJpeg } = await import('../../src/system/codecs/turbojpeg.js')
  expect(() => encodeJpeg(new Uint8Array(3), 1, 1, 75)).toThrow(/tried lib.*tj3/s)
})

it('says how to install libvips where it is missing', async () => {
  vi.stubEnv('MILLRACE_VIPS', '/no/such/libvips.so')
  const { readVipsHeader } = await import('../../src/system/codecs/vips.js')
  expect(() => readVipsHeader(new Uint8Array(4))).toThrow(/npm install sharp.*MILLRACE_VIPS/)
})

it('encodes what it is asked to, and nothing else', async () => {
  const { encodeJpeg } = await import('../../src/system/codecs/turbojpeg.js')
  const { turboHeader } = await import('../support/turbojpeg-header.js')
  const jpeg = encodeJpeg(new Uint8Array(20 * 10 * 3).fill(90), 20, 10, 75, '444')
  expect(turboHeader(jpeg)).toMatchObject({ width: 20, height: 10, subsampling: '444', progressive: false })
  expect(() => encodeJpeg(new Uint8Array(5), 20, 10, 75)).toThrow(/5 bytes are not a picture of 20×10/)
  expect(() => encodeJpeg(new Uint8Array(600), 20, 10, 101)).toThrow(/TurboJPEG/)
})
