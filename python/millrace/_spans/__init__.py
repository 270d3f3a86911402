"""Spans: who did what, when. The memory that they lie in, its writer and its readers (docs/measure.md)."""
