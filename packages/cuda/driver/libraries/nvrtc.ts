/** NVRTC: CUDA C++ in memory to machine code for one GPU. It needs no GPU itself. */
import { CudaError } from '../errors.js'
import { loadLibrary } from './find.js'

/** A program and the headers that it includes, by the names under which it includes them. */
export interface CudaSource {
  /** As messages call it: `picture.cu`. */
  name: string
  text: string
  headers?: Readonly<Record<string, string>>
}

type Out = Uint8Array

interface Nvrtc {
  create(
    program: Out,
    text: string,
    name: string,
    count: number,
    headers: string[] | null,
    names: string[] | null,
  ): number
  compile(program: bigint, count: number, options: string[]): number
  logSize(program: bigint, size: Out): number
  log(program: bigint, text: Out): number
  cubinSize(program: bigint, size: Out): number
  cubin(program: bigint, image: Out): number
  destroy(program: Out): number
  version(major: Out, minor: Out): number
  errorName(status: number): string
}

let bound: Nvrtc | undefined

function bind(): Nvrtc {
  const library = loadLibrary('nvrtc')
  return {
    create: library.func(
      'int nvrtcCreateProgram(void *program, const char *text, const char *name, int count, ' +
        'const char **headers, const char **names)',
    ),
    compile: library.func('int nvrtcCompileProgram(uint64_t program, int count, const char **options)'),
    logSize: library.func('int nvrtcGetProgramLogSize(uint64_t program, void *size)'),
    log: library.func('int nvrtcGetProgramLog(uint64_t program, void *text)'),
    cubinSize: library.func('int nvrtcGetCUBINSize(uint64_t program, void *size)'),
    cubin: library.func('int nvrtcGetCUBIN(uint64_t program, void *image)'),
    destroy: library.func('int nvrtcDestroyProgram(void *program)'),
    version: library.func('int nvrtcVersion(void *major, void *minor)'),
    errorName: library.func('const char *nvrtcGetErrorString(int status)'),
  }
}

/** Compiles to a cubin. What the compiler says about an error in the program is in the CudaError's message. */
export function compileCubin(source: CudaSource, options: readonly string[]): Buffer {
  bound ??= bind()
  const nvrtc = bound
  const handle = Buffer.alloc(8)
  const size = Buffer.alloc(8)
  const names = Object.keys(source.headers ?? {})
  const texts = names.map(name => source.headers![name])
  const check = (call: string, status: number, log = ''): void => {
    if (status !== 0) throw new CudaError(call, nvrtc.errorName(status), log)
  }
  const headers = names.length === 0 ? null : texts
  check(
    'nvrtcCreateProgram',
    nvrtc.create(handle, source.text, source.name, names.length, headers, names.length === 0 ? null : names),
  )
  const program = handle.readBigUInt64LE()
  try {
    const status = nvrtc.compile(program, options.length, [...options])
    if (status !== 0) {
      check('nvrtcGetProgramLogSize', nvrtc.logSize(program, size))
      const log = Buffer.alloc(Number(size.readBigUInt64LE()))
      check('nvrtcGetProgramLog', nvrtc.log(program, log))
      check(
        `nvrtcCompileProgram of ${source.name}`,
        status,
        log.toString('utf8').replace(/\0.*$/s, '').trim(),
      )
    }
    check('nvrtcGetCUBINSize', nvrtc.cubinSize(program, size))
    const image = Buffer.alloc(Number(size.readBigUInt64LE()))
    check('nvrtcGetCUBIN', nvrtc.cubin(program, image))
    return image
  } finally {
    nvrtc.destroy(handle)
  }
}

/** Loads the library, if it is there, and says which version: "13.2". */
export function nvrtcVersion(): string {
  bound ??= bind()
  const [major, minor] = [Buffer.alloc(4), Buffer.alloc(4)]
  bound.version(major, minor)
  return `${major.readInt32LE()}.${minor.readInt32LE()}`
}
