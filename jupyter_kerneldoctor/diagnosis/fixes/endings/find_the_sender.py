from ...fix import Case, Death, Fix, Proposal, Proposals
from ...texts.usual_reasons import log_around


class FindTheSender(Fix):
    """Find out who ended the kernel.

    What it does: Lists who sends signals to kernels, and a command that shows what the machine's log says around that
    second.

    When it is offered: A signal ended the kernel, and neither memory nor the program itself explains it.

    What it costs: Nothing. Reading the log may need an administrator.
    """

    id, title, causes = "find-the-sender", "Find out who sent the signal", ("killed-externally",)
    unless_offered = frozenset({"raise-not-kill"})

    FIRES = [Case("import time\ntime.sleep(30)", says=("4242", "UTC", "came"))]
    SILENT = [Case("import time\ntime.sleep(30)", cause="self-kill")]

    def propose(self, death: Death) -> Proposals:
        end, pid = death.recording.end, death.recording.kernel.process.pid
        if end is None or end.kind != "signal":
            return
        why = (
            f"{end.signal or 'The signal'} to process {pid} probably came from outside. Possible senders: a person or "
            "a script, a job scheduler at a limit, a cluster that moves pods, a service for idle kernels, earlyoom."
        )
        yield Proposal(why=why, snippet=log_around(death))
