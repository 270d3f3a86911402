/** The thread that writes files of a workload. */
import { serve } from '../../../../build/core/system/node/threads.js'
import { fileWriter } from './writer.mjs'

serve(fileWriter)
