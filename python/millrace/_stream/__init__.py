"""The batches of a feed, one after the other: read from slots (``reading``), checked for bad samples
(``judge``), counted (``stats``), in epochs (``loop``), whatever happens to the engine (``stream``)."""
