"""The builders: what ``millrace.tar(…)``, ``millrace.image(…)`` and the others make is a definition as JSON.
``public`` lists what is imported into ``millrace``."""
