"""Settings that all tests share."""

from hypothesis import settings

settings.register_profile("seeded", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("seeded")
