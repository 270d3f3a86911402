/** The thread that paints pictures for the demo. */

import { serve } from '../../../core/system/node/threads.js'
import { demoPainter } from './pictures.js'

serve(demoPainter)
