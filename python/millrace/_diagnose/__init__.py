"""Why a trainer waits: loaders of others', watched while they run (``millrace diagnose --loader``)."""
