"""The connection to the engine: finding and starting it (``node``, ``process``, ``find_engine``), asking it
(``wire``, ``client``), and reading its shared memory (``layout``, ``memory``, ``leases``)."""
