"""What one of several says about a call, and what two of them come to together."""

from abey.core.calls import base_disposition
from abey.core.matching import AnyRule, Link
from abey.protocol.policy import AnyDisposition, Decorate, Defer, Deny, PolicyRule, RunIsolated
from abey.shared.values import dataclass, replace

BETWEEN = "; "
"""What stands between two reasons."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """`rule` is the one it comes from, None where a default or no rule at all says so; `link` tells that then.
    `expire_seconds` is how long the call may wait, if it waits, and `isolation` the sandbox that it runs in."""

    disposition: AnyDisposition
    rule: AnyRule | None = None
    link: Link | None = None
    serial: bool = False
    expire_seconds: int | None = None
    isolation: RunIsolated | None = None


def opinion(disposition: AnyDisposition, rule: AnyRule | None = None, link: Link | None = None) -> Opinion:
    """What a rule says, or a default."""
    base = base_disposition(disposition)
    own = rule if type(rule) is PolicyRule else None
    of_rule = own.expire_seconds if own else None
    return Opinion(
        disposition,
        rule,
        link,
        serial=bool(own and own.serial),
        expire_seconds=(base.expire_seconds if type(base) is Defer else None) or of_rule,
        isolation=base if type(base) is RunIsolated else None,
    )


def strictness(disposition: AnyDisposition) -> int:
    """deny > defer > run; what runs isolated is stricter than what runs. The greater number is the stricter."""
    match base_disposition(disposition):
        case Deny():
            return 3
        case Defer():
            return 2
        case RunIsolated():
            return 1
        case _:
            return 0


def stricter(one: Opinion, other: Opinion) -> Opinion:
    """The stricter of the two; `one` where they are alike, with the reasons of both. Nothing that either of them holds
    back is let go: its sandbox, its `serial`, its decorators, the sooner end."""
    ends = [at for at in (one.expire_seconds, other.expire_seconds) if at is not None]
    isolation = _narrower(one.isolation, other.isolation)
    changed = strictness(other.disposition) > strictness(one.disposition)
    disposition = within(one.disposition, other.disposition) if changed else _for_both(one, other)
    if isolation is not None and isinstance(base_disposition(disposition), RunIsolated):
        disposition = within(disposition, isolation)
    return replace(
        other if changed else one,
        disposition=disposition,
        serial=one.serial or other.serial,
        expire_seconds=min(ends, default=None),
        isolation=isolation,
    )


def loosened(own: Opinion, remembered: Opinion | None) -> Opinion:
    """The opinion of an agent file, where a remembered rule has another one. It keeps what else the file says."""
    if remembered is None:
        return own
    if isinstance(base_disposition(own.disposition), Defer):
        let = replace(own, disposition=within(own.disposition, remembered.disposition), rule=remembered.rule)
        return replace(let, link=None, isolation=remembered.isolation or own.isolation)
    return stricter(own, remembered)


def within(decorated: AnyDisposition, inner: AnyDisposition) -> AnyDisposition:
    """`inner` with the decorators of the other around it."""
    if isinstance(decorated, Decorate):
        return decorated.model_copy(update={"inner": within(decorated.inner, inner)})
    return inner


def _for_both(one: Opinion, other: Opinion) -> AnyDisposition:
    """What `one` says; a call that both hold back is shown with why either does."""
    base, second = base_disposition(one.disposition), base_disposition(other.disposition)
    if not (isinstance(base, Defer) and isinstance(second, Defer)):
        return one.disposition
    told = dict.fromkeys(reason for said in (base, second) if said.reason for reason in said.reason.split(BETWEEN))
    return within(one.disposition, base.model_copy(update={"reason": BETWEEN.join(told) or None}))


def lets_more(sandbox: RunIsolated | None, other: RunIsolated) -> bool:
    """Whether what runs in the first could do what the other sandbox keeps it from."""
    return sandbox is None or bool((sandbox.network and not other.network) or (sandbox.writable and not other.writable))


def _narrower(one: RunIsolated | None, other: RunIsolated | None) -> RunIsolated | None:
    if one is None or other is None:
        return one or other
    return RunIsolated(network=one.network and other.network, writable=one.writable and other.writable)
