"""The command in this process."""

import pytest

from biosfa.cli import app


@pytest.fixture
def command(capsys):
    """Run the command with these arguments, and return what it printed: (standard output, standard error)."""

    def run(*arguments):
        app([str(argument) for argument in arguments], standalone_mode=False)
        return capsys.readouterr()

    return run
