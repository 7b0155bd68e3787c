"""``python -m biosfa`` is the command ``biosfa``."""

from biosfa.cli import main

main()
