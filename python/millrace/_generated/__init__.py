"""Modules that are generated from the engine's TypeScript: npm run generate."""
