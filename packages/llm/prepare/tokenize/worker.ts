/** The thread that tokenises. */
import { serve } from '../../../core/system/node/threads.js'
import { encoder } from './encode.js'

serve(encoder)
