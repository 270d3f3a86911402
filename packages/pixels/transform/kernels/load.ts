import { kernelsIn } from '../../../core/system/memory/kernels.js'

/** The kernels of pictures and arrays (assembly/). */
export const kernel = kernelsIn(new URL('./', import.meta.url))
