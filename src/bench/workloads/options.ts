/** The options that `millrace bench` has for workloads alone, declared as verbs declare theirs (cli/command.ts). */

export const WORKLOAD_OPTIONS = {
  workload: {
    type: 'text',
    value: 'NAME',
    about: 'a DLIO-style workload: unet3d, resnet50, cosmoflow or retinanet',
  },
  accelerator: {
    type: 'text',
    value: 'NAME',
    about: 'whose compute time is simulated: h100, a100, or b200 (h100 where there is one)',
  },
  accelerators: {
    type: 'text',
    value: 'N',
    about: 'simulated accelerators on this host, or max: as many as are sustained',
    default: '1',
  },
  scale: {
    type: 'text',
    value: '1/8',
    about: 'share of record sizes and compute time (unet3d 1/8, others 1)',
  },
  data: {
    type: 'text',
    value: 'DIR',
    about: 'where the data are, or are written to (the user’s cache folder)',
  },
  files: { type: 'count', value: 'N', about: 'files of data (2 to 4 GB of them)', least: 1 },
  size: { type: 'bytes', value: 'BYTES', about: 'in place of --files: about so many bytes', least: 1 },
  seed: { type: 'count', value: 'N', about: 'of data and order', default: 10 },
  warm: { type: 'flag', about: 'read all data first, so that they are in the page cache' },
  'steps-log': {
    type: 'text',
    value: 'FILE',
    about: 'where the times of every step go, as JSON lines',
  },
} as const

/** What was given. Progress and notices go to the caller, so that stdout has the result alone. */
export interface WorkloadOptions {
  workload: string
  accelerator?: string
  /** A number, or `max`. */
  accelerators?: string
  scale?: string
  data?: string
  files?: number
  size?: number
  seed?: number
  warm?: boolean
  'steps-log'?: string
  epochs?: number
  steps?: number
  workers?: number | 'auto'
  depth?: number
  onProgress?: (done: number, total: number, what: string, unit: string) => void
  onNotice?: (text: string) => void
}
