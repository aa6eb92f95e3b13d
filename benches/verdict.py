"""The line under a page's title that sums it up, as the pages of `compressive-lab run` have it."""


def bars(checks):
    """From pairs of what was asked and whether it is met: how many are met, and those that are not."""
    missed = [what for what, met in checks if not met]
    if not missed:
        return f"**Verdict**: all {len(checks)} bars are met."
    return f"**Verdict**: {len(checks) - len(missed)} of {len(checks)} bars are met; missed: {'; '.join(missed)}."


def against(ours, peer, name):
    """Seconds and memory beside a peer's, both pairs (seconds, megabytes), as ratios in words."""
    def times(ratio, less, more):
        return f"{ratio:.1f} times {less}" if ratio >= 1 else f"{1 / ratio:.1f} times {more}"

    faster, smaller = peer[0] / ours[0], peer[1] / ours[1]
    return f"{times(faster, 'faster', 'slower')} and with {times(smaller, 'less', 'more')} memory than {name}"
