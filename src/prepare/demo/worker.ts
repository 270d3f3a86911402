/** The thread that paints pictures for the demo. */

import { serve } from '../threads.js'
import { demoPainter } from './pictures.js'

serve(demoPainter)
