"""What is given when a feed is opened: names of options, the definition, the rank, a saved state. All of it
is checked here, before the engine is asked."""
