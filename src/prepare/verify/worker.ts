/** The thread that verifies rows. */
import { serve } from '../threads.js'
import { rowVerifier } from './rows.js'

serve(rowVerifier)
