"""Starts workers of all languages, gathers what they measured, writes tables and plots."""
