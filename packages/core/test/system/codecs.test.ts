import sharp from 'sharp'
import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

it('says what to do where TurboJPEG is missing', async () => {
  vi.stubEnv('MILLRACE_TURBOJPEG', '/no/such/libturbojpeg.so')
  const { encodeJpeg } = await import('../../system/codecs/turbojpeg.js')
  const call = () => encodeJpeg(new Uint8Array(3), 1, 1, 75)
  expect(call).toThrow(/install libjpeg-turbo 3.*npm run build.*MILLRACE_TURBOJPEG/)
  expect(call).toThrow(/tried \/no\/such\/libturbojpeg\.so/)
})

it('refuses a library that is not TurboJPEG 3, and says which it tried', async () => {
  vi.stubEnv('MILLRACE_TURBOJPEG', process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6')
  const { encodeJpeg } = await import('../../system/codecs/turbojpeg.js')
  expect(() => encodeJpeg(new Uint8Array(3), 1, 1, 75)).toThrow(/tried lib.*tj3/s)
})

it('says how to install libvips where it is missing', async () => {
  vi.stubEnv('MILLRACE_VIPS', '/no/such/libvips.so')
  const { readVipsHeader } = await import('../../system/codecs/vips.js')
  expect(() => readVipsHeader(new Uint8Array(4))).toThrow(/npm install sharp.*MILLRACE_VIPS/)
})

it('encodes what it is asked to, and nothing else', async () => {
  const { encodeJpeg } = await import('../../system/codecs/turbojpeg.js')
  const { turboHeader } = await import('../../../../test/support/turbojpeg-header.js')
  const jpeg = encodeJpeg(new Uint8Array(20 * 10 * 3).fill(90), 20, 10, 75, '444')
  expect(turboHeader(jpeg)).toMatchObject({ width: 20, height: 10, subsampling: '444', progressive: false })
  expect(() => encodeJpeg(new Uint8Array(5), 20, 10, 75)).toThrow(/5 bytes are not a picture of 20×10/)
  expect(() => encodeJpeg(new Uint8Array(600), 20, 10, 101)).toThrow(/TurboJPEG/)
})

// Else an account of all cached pictures takes decoding for waiting for storage.
it.each(['png', 'interlaced png', 'webp', 'tiff', 'avif'])(
  'counts decoding %s as CPU time of the thread',
  async name => {
    const { decodeWithVips } = await import('../../system/codecs/vips.js')
    const { Workspace } = await import('../../system/memory/workspace.js')
    const { threadCpuMs } = await import('../../system/process/thread.js')
    const picture = sharp({
      create: {
        width: 320,
        height: 240,
        channels: 3,
        background: 'red',
        noise: { type: 'gaussian', mean: 128, sigma: 30 },
      },
    })
    const format = name.split(' ').at(-1) as 'png'
    const file = await picture.toFormat(format, { progressive: name.startsWith('interlaced') }).toBuffer()
    const to = Workspace.alone(320 * 240 * 3).address
    const decode = () => decodeWithVips(file, undefined, () => to)
    decode()
    const [before, own] = [process.cpuUsage(), threadCpuMs()]
    for (let i = 0; i < 10; i++) decode()
    const all = process.cpuUsage(before)
    expect(threadCpuMs() - own).toBeGreaterThan((0.8 * (all.user + all.system)) / 1000)
  },
)
