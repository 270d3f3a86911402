/** The thread that paints pictures for the demo. */
import { demoPainter } from './demo-pictures.js'
import { serve } from './threads.js'

serve(demoPainter)
