from ...fix import Advice, Case, Death


class SurviveLogout(Advice):
    """Start Jupyter so that it outlives the terminal and the login.

    What it does: When a terminal closes or a connection breaks, what was started in it gets SIGHUP and ends. tmux keeps
    it running, and so do `nohup` and a service of systemd.

    When it is offered: SIGHUP ended the kernel.

    What it costs: Nothing. What runs on has to be ended by hand.
    """

    id, title = "survive-logout", "Start Jupyter in tmux, or with nohup"
    causes = ("killed-externally", "unhandled-signal")
    why = (
        "SIGHUP came {where}. It is sent when the terminal or connection closes in which Jupyter was started. In tmux, "
        "with `nohup` or as a service of systemd, Jupyter runs on without it."
    )
    snippet = (
        "# in a shell, in place of `jupyter lab`:\n"
        "# tmux new -s jupyter 'jupyter lab'        (come back with: tmux attach -t jupyter)\n"
        "# nohup jupyter lab > jupyter.log 2>&1 &\n"
        "# systemd-run --user --unit=jupyter jupyter lab"
    )

    FIRES = [Case("train()", signal="SIGHUP", says=("tmux", "nohup", "systemd"))]
    SILENT = [Case("train()", signal="SIGTERM")]

    def facts(self, death: Death) -> dict[str, str] | None:
        """Speak up for SIGHUP only."""
        return {} if death.signal == "SIGHUP" else None
