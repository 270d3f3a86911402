/** The thread that writes files of a workload. */
import { serve } from '../../../system/node/threads.js'
import { fileWriter } from './writer.js'

serve(fileWriter)
