/** The thread that verifies rows. */
import { serve } from './threads.js'
import { rowVerifier } from './verify-rows.js'

serve(rowVerifier)
