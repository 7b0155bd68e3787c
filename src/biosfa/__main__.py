"""The program ``biosfa``, which is also ``python -m biosfa``."""

import signal


def run() -> None:
    """Run the command. Before and after it there is nothing to finish: Ctrl-C then ends the process at once."""
    _end_at_ctrl_c()
    from biosfa.cli import main

    try:
        main()
    finally:
        _end_at_ctrl_c()


def _end_at_ctrl_c() -> None:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for programs in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    run()
