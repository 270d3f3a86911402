"""The connection to the engine: finding and starting it (``node``, ``process``, ``meeting``), asking it
(``wire``, ``client``), and reading its shared memory (``layout``, ``memory``, ``leases``)."""
