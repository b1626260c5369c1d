"""The Beam stages, one file a verb, and the runners that execute them."""
