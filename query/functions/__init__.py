"""The functions and operators the engine knows, by family. `registry` is the one list of them."""
