// Looks at every GPU of a machine through NVML and GPM, at rest and under load, and says what does not fit together.
//
//   node bench/gpu/check-nvml.mjs [--dist DIST] [--json FILE] [--no-load]
//
// The load is a python3 with torch that multiplies matrices and copies to the device and back; without torch the
// GPUs are only looked at as they are. Exits with 1 if anything is wrong.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const argument = name => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
const dist = resolve(argument('dist') ?? join(import.meta.dirname, '../../build'))
const load = name => import(pathToFileURL(join(dist, 'core/system/nvml', name)).href)
const { openNvml } = await load('nvml.js')
const { GpmSampler, gpmSupported } = await load('gpm.js')

const LOAD = `
import sys, time
try:
    import torch
except ImportError:
    sys.exit(3)
device = torch.device("cuda", int(sys.argv[1]))
a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
host = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
there = torch.empty_like(host, device=device)
torch.cuda.synchronize()
print("ready", flush=True)
end = time.time() + float(sys.argv[2])
while time.time() < end:
    for _ in range(8): a @ a
    there.copy_(host, non_blocking=True)
    host.copy_(there, non_blocking=True)
    torch.cuda.synchronize()
`

const wrong = []
const expect = (true_, text) => {
  if (!true_) wrong.push(text)
}
const timed = (name, run) => {
  const start = performance.now()
  const result = run()
  console.log(`${name}: ${(performance.now() - start).toFixed(2)} ms`)
  return result
}

const nvml = timed('open', () => openNvml())
if (nvml === undefined) {
  console.error('libnvidia-ml.so.1 is not installed here')
  process.exit(1)
}
const { driver, cuda } = nvml
console.log(`driver ${driver}, CUDA ${cuda}, GPUs: ${nvml.count}`)
expect(/^\d+\.\d+/.test(driver), `driver "${driver}"`)
expect(/^\d+\.\d+$/.test(cuda), `CUDA "${cuda}"`)

const gpus = []
for (let index = 0; index < nvml.count; index++) gpus.push(await look(index))

async function look(index) {
  console.log(`\nGPU ${index}`)
  const gpu = timed('describe', () => nvml.describe(index))
  timed('read, first', () => nvml.read(index))
  const rest = timed('read, again', () => nvml.read(index))
  console.log(gpu, rest)
  expect(gpu.name.length > 3, `name "${gpu.name}"`)
  expect(/^GPU-[\da-f-]{36}$/.test(gpu.uuid), `UUID "${gpu.uuid}"`)
  expect(/^[\dA-F]{8}:[\dA-F]{2}:[\dA-F]{2}\.\d$/i.test(gpu.bus), `bus "${gpu.bus}"`)
  expect(gpu.memory > 2 ** 30 && rest.memory.used < gpu.memory, 'memory')
  expect(rest.memory.free + rest.memory.used === gpu.memory, 'free + used is not total')
  expect(rest.watts > 5 && rest.watts < 2000, 'power')
  expect(gpu.pcie.generation >= 1 && gpu.pcie.width >= 1, 'PCIe')
  const gpm = gpmSupported(nvml, index)
  console.log(gpm ? 'GPM is there' : 'no GPM')
  const under = process.argv.includes('--no-load') ? undefined : await loaded(index, gpm)
  // Which one it was is nobody's business.
  const { uuid: _, ...known } = gpu
  return { gpu: known, rest, gpm, under }
}

/** Readings while the GPU works; undefined where torch is not to be had. */
async function loaded(index, gpm) {
  const child = spawn('python3', ['-c', LOAD, String(index), '6'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(done => child.on('close', done))
  const ready = new Promise(done => child.stdout.once('data', () => done('ready')))
  if ((await Promise.race([ended, ready])) !== 'ready') {
    console.log('no load: python3 has no torch, or torch failed')
    return undefined
  }
  const sampler = gpm ? new GpmSampler(nvml, index) : undefined
  const readings = []
  for (let i = 0; i < 4; i++) {
    await sleep(1000)
    readings.push({ gpm: sampler?.read(), reading: nvml.read(index) })
  }
  console.log(readings.at(-1))
  if (sampler !== undefined) {
    expect(sampler.read() === undefined, 'a reading after less than 100 ms')
    sampler.close()
    const { sm } = readings.at(-1).gpm
    expect(sm > 20 && sm <= 100.5, `SM activity ${sm}`)
  }
  const { utilization, clockEvents } = readings.at(-1).reading
  expect(utilization > 20, `utilisation ${utilization}`)
  console.log(`clocks: ${clockEvents.join(', ') || 'free'}`)
  await ended
  return readings
}

nvml.close()
const file = argument('json')
if (file !== undefined) writeFileSync(file, `${JSON.stringify({ driver, cuda, gpus, wrong }, null, 2)}\n`)
console.log(wrong.length === 0 ? '\nall fits' : `\nwrong: ${wrong.join('; ')}`)
process.exitCode = wrong.length === 0 ? 0 : 1
